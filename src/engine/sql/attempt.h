// attempt.h: Attempt, the outcome of an attempt to use a table.
#pragma once

#include <cstdint>
#include <string>

#include "base/failure.h"
#include "contract/sql_error.h"

namespace postern::sql {

/// The server's message for a failure.
struct ServerError {
  std::string message{};
  SqlError number{};  ///< none: the message is ours

  void clear() {
    message.clear();
    number = {};
  }
};

inline const ServerError nothing_said{};

enum class TableState : uint8_t {
  ready,
  busy,    ///< DDL or a table lock holds it at present
  failed,  ///< `failure` and `message` have the reason
  again,   ///< every table was given up, and the attempt must be repeated for all of them
};

struct OpenAttempt {
  TableState state = TableState::ready;
  Failure failure = Failure::none;
  ServerError error{};  ///< the server's error for `failure`
};

}  // namespace postern::sql
