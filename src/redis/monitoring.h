// monitoring.h: what MONITOR shows of commands: show(), which carries out a command and notes a line of it, and
// note_shown(), that line.
//
// A command is shown when it is done, a script before its commands. Nothing of this is used while nobody monitors.
#pragma once

#include "redis/call.h"

namespace postern::redis {

/// Whether somebody monitors, and may see such a command.
bool is_shown(const RedisSession &session, const Command &command);
/// Carries out a command that is_shown(), and adds the ops that show it.
Next show(Call &call, Handler carry_out);
/// Notes a command of a script, which the caller shows or takes back. Throws std::bad_alloc.
void note_shown_of_script(RedisSession &session, const Command &command, std::span<const Bytes> arguments);

}  // namespace postern::redis
