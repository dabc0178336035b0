// handlers.h: the handlers of commands.def, each defined in the file of its group.
//
// To add a family of commands, add rows to commands.def and define their handlers in a file GROUP_commands.cc:
//
//   namespace postern::redis::lower {
//   Next echo(Call &call) {
//     answer(call, [text = call.arguments[1]](Writer &writer) { writer.bulk(text); });
//     return Next::go_on;
//   }
//   }
//
// The rules, which the session and EXEC rely on:
//  1. The number of arguments and the client's login were checked. `call.arguments` are views of the input: they live
//     until the ops are settled, and no longer.
//  2. A handler never answers by itself: it adds ops to `call.batch`, with replies made in its arena. Together they
//     write exactly one reply to `call.output`, in the order of the ops. A reply that hears restart() takes its bytes
//     back (base/passage.h).
//  3. `call.resp` is the version for this reply; a reply keeps it, because a later command may change the client's.
//  4. An answer without a table is an answer() or a refuse() (call.h), also where arguments are wrong.
//  5. Ops that must be one transaction are between begin_unit() and end_unit(). A handler may be called inside a unit
//     that EXEC has begun (`call.in_unit`); then it begins none.
//  6. A command with a step that depends on the result of an op returns wait_for() with a Stage, which continues when
//     the ops are settled. It keeps copies of the arguments that it needs. Inside EXEC there are no stages.
//  7. State of the connection that a handler changes at once (SELECT, CLIENT SETNAME) holds for the commands after it,
//     which may be in the same batch, but objects that ops point to must not change before they are settled.
#pragma once

#include "redis/registry/command.h"

namespace postern::redis::lower {

#define COMMAND(name, arity, flags, keys, tips, group, categories, since, summary, handler) Next handler(Call &call);
#include "redis/registry/commands.def"
#undef COMMAND

}  // namespace postern::redis::lower
