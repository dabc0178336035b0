// dialect.h: Dialect, a number for all session state that changes the meaning of a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "contract/server_session.h"

class THD;

namespace postern::mariadb {

/// Owned by one session. Equal contexts have equal numbers, in all sessions; 0: none.
class Dialect {
 public:
  /// Takes the session's present context, on the thread that is attached to it.
  void note(const THD *thd);
  uint64_t number() const { return number_; }
  /// nullopt: only the server may parse its texts.
  std::optional<TextRules> text_rules(const THD *thd) const;

 private:
  std::string context_;  // the context of number_
  uint64_t number_ = 0;
};

}  // namespace postern::mariadb
