// dialect.h: Dialect, everything about a session that changes the meaning of a text, as a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "contract/server_session.h"

class THD;

namespace postern::mariadb {

/// One session's. Equal contexts have equal numbers, in all sessions; 0 is none's.
class Dialect {
 public:
  /// The context is the session's as it is now, on the thread that is attached to it.
  void note(const THD *thd);
  uint64_t number() const { return number_; }
  /// nullopt: nobody but the server may read its texts.
  std::optional<TextRules> text_rules(const THD *thd) const;

 private:
  std::string context_;  // that number_ is of
  uint64_t number_ = 0;
};

}  // namespace postern::mariadb
