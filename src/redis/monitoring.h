// monitoring.h: MONITOR: show(), which runs a command and notes its line, and note_shown(), which notes the line only.
//
// A command is shown when it is done, a script before its commands. Not used while no client monitors.
#pragma once

#include "redis/call.h"

namespace postern::redis {

/// Whether any client monitors and the command may be shown.
bool is_shown(const RedisSession &session, const Command &command);
/// Runs a command that is_shown(), and adds the ops that show it.
Next show(Call &call, Handler carry_out);
/// Notes a script's command; the caller shows or takes it back. Throws std::bad_alloc.
void note_shown_of_script(RedisSession &session, const Command &command, std::span<const Bytes> arguments);

}  // namespace postern::redis
