// held_reply.h: commands that put elements into keys that others wait for, and are answered when those are served.
//
// Redis serves blocked clients before it answers the push, so whoever has the answer sees the outcome. So does the
// door, but that it waits for nobody longer than `serving_wait_ms`. Meanwhile the session sleeps: it holds no op, no
// table and no thread.
#pragma once

#include <cstdint>

#include "redis/call.h"

namespace postern::redis {

/// For how long a reply is held at most.
inline constexpr int64_t serving_wait_ms = 500;

/// Whether somebody waits for a key that the command, or one of the transaction that it carries out, may put elements
/// into.
bool feeds_who_waits(Call &call);
/// What its handler does, with its reply held.
Next answer_when_served(Call &call);

}  // namespace postern::redis
