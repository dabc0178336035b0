// not_now.h: NotNow, the reasons for leaving a statement with a plan to the server, with their counts; and
// session_allows(), which checks whether a session may be answered in a turn at all.
#pragma once

#include <optional>
#include <array>
#include <cstdint>
#include <string_view>

class THD;

namespace postern::mariadb {

enum class NotNow : uint8_t {
#define NOT_NOW(name, words) name,
#include "engine/mariadb/hosted/thd/not_now.def"
#undef NOT_NOW
  count
};

/// The reason in words.
constexpr std::string_view words(NotNow why) {
  constexpr std::string_view texts[] = {
#define NOT_NOW(name, words) words,
#include "engine/mariadb/hosted/thd/not_now.def"
#undef NOT_NOW
  };
  return texts[static_cast<size_t>(why)];
}

/// Whether the reason is an enabled feature that has to see each statement.
constexpr bool is_of_watchers(NotNow why) {
  return why >= NotNow::general_log && why <= NotNow::state_tracker;
}

/// Whether a worker had begun the statement, and may fail the same way with similar ones.
constexpr bool is_in_vain(NotNow why) {
  switch (why) {
    case NotNow::not_learnt:
    case NotNow::value:
    case NotNow::table_changed:
    case NotNow::read_failed:
    case NotNow::too_much:
    case NotNow::order_unsure:
    case NotNow::warning:
    case NotNow::row_refused:
    case NotNow::alone: return true;
    default: return false;
  }
}

/// Counts the reason. Any thread.
void count(NotNow why);
/// The counts of all reasons since the library was loaded. Any thread.
std::array<uint64_t, static_cast<size_t>(NotNow::count)> counted_reasons();

/// The first reason why a plain SELECT may not be answered in the present state of the session and the server. Enabled
/// features that have to see statements are reasons; the session's own settings (isolation, time zone, character sets)
/// are not, because the read runs in the session. For the session's owner.
std::optional<NotNow> session_allows(THD *thd);
/// After session_allows(): why the session may have no writes at all.
std::optional<NotNow> session_writes(THD *thd);
/// After that: why its writes may not share a transaction, which has no separate binary log, time or AUTO_INCREMENT
/// steps.
std::optional<NotNow> session_shares(THD *thd);
/// The same for commands that the server's own code runs in a turn.
std::optional<NotNow> housekeeping_allows(THD *thd);

}  // namespace postern::mariadb
