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
  /// The members of a session that its context is made of, besides its database.
  struct Settings {
    bool operator==(const Settings &) const = default;
    uint64_t sql_mode = 0;
    uint64_t old_behavior = 0;
    const void *character_set_client = nullptr;
    const void *collation_connection = nullptr;
    uint64_t option_bits = 0;
    uint64_t div_precincrement = 0;
    uint64_t group_concat_max_len = 0;
    const void *lc_time_names = nullptr;
  };
  static std::string context_of(const Settings &settings, Bytes database);

  bool noted_ = false;
  Settings settings_;     // those of number_
  std::string database_;  // the same; empty: none
  uint64_t number_ = 0;
};

}  // namespace postern::mariadb
