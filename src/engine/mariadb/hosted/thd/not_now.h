// not_now.h: NotNow, why a statement with a plan is left to the server this time; how often each was the case; and
// session_allows(), all that must be true of a session before anything is answered for it in a turn.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

class THD;

namespace postern::mariadb {

enum class NotNow : uint8_t {
  answered,  ///< it was not left
#define NOT_NOW(name, words) name,
#include "engine/mariadb/hosted/thd/not_now.def"
#undef NOT_NOW
  count
};

/// In words, for people.
constexpr std::string_view words(NotNow why) {
  constexpr std::string_view texts[] = {
      "it was answered in a turn",
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

/// Adds one to how often that was the reason. Any thread.
void count(NotNow why);
/// How often each was the reason, since the library was loaded. Any thread.
std::array<uint64_t, static_cast<size_t>(NotNow::count)> counted_reasons();

/// Whether a plain SELECT may be answered for the session as it is now, and as the server is: NotNow::answered, or the
/// first reason why not. Everything that is switched on and has to see a statement is a reason; what belongs to the
/// session (isolation, time zone, character sets) is not, for the read is done in it. Only for the session's owner.
NotNow session_allows(THD *thd);
/// Behind session_allows(): whether a write may be done for it at all.
NotNow session_writes(THD *thd);
/// Behind that: whether in a transaction of somebody else's, which has not its own binary log, time or steps of
/// AUTO_INCREMENT.
NotNow session_shares(THD *thd);
/// As far as that holds for any command that is run in a turn by the server's own code.
NotNow housekeeping_allows(THD *thd);

}  // namespace postern::mariadb
