// held_reply.h: holds the reply of a command that pushes to keys until the clients that wait for them are served.
//
// Redis serves blocked clients before it answers the push, so whoever has the answer sees the outcome. The door does
// the same, but waits for at most `serving_wait_ms`. Meanwhile the session sleeps: it holds no op, no table and no
// thread.
#pragma once

#include <cstdint>

#include "redis/call.h"

namespace postern::redis {

/// The longest time that a reply is held.
inline constexpr int64_t serving_wait_ms = 500;

/// Whether a client waits for a key that the command, or one of EXEC's commands, may push to.
bool feeds_who_waits(Call &call);
/// Runs its handler, with the reply held.
Next answer_when_served(Call &call);

}  // namespace postern::redis
