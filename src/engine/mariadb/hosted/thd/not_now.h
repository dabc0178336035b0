// not_now.h: NotNow, why a statement with a plan is left to the server this time; how often each was the case; and
// session_allows(), all that must be true of a session before anything is answered for it in a turn.
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

/// In words, for people.
constexpr std::string_view words(NotNow why) {
  constexpr std::string_view texts[] = {
#define NOT_NOW(name, words) words,
#include "engine/mariadb/hosted/thd/not_now.def"
#undef NOT_NOW
  };
  return texts[static_cast<size_t>(why)];
}

/// Whether it is something that is switched on and has to see each statement.
constexpr bool is_of_watchers(NotNow why) {
  return why >= NotNow::general_log && why <= NotNow::state_tracker;
}

/// Whether a worker had begun the statement, and will meet the same with another one like it, or may.
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

/// Adds one to how often that was the reason. Any thread.
void count(NotNow why);
/// How often each was the reason, since the library was loaded. Any thread.
std::array<uint64_t, static_cast<size_t>(NotNow::count)> counted_reasons();

/// The first reason why a plain SELECT may not be answered for the session as it is now, and as the server is.
/// Everything that is switched on and has to see a statement is a reason; the session's own settings (isolation, time
/// zone, character sets) are not, for the read is done in it. Only for the session's owner.
std::optional<NotNow> session_allows(THD *thd);
/// After session_allows(): why no write may be done for it at all.
std::optional<NotNow> session_writes(THD *thd);
/// After that: why its writes may not share a transaction, which has no binary log, time or steps of AUTO_INCREMENT of
/// its own.
std::optional<NotNow> session_shares(THD *thd);
/// The reasons for commands that the server's own code runs in a turn.
std::optional<NotNow> housekeeping_allows(THD *thd);

}  // namespace postern::mariadb
