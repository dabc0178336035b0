// serve_command.h: lets the server serve a client's command on the thread that acts as its THD, like do_command().
//
// A command that has come whole is put where the server's own read would put it. That read costs twice as much as the
// rest of do_command(): it asks for a header, then for the payload, each through the Vio.
#pragma once

#include "engine/mariadb/basics/server.h"
#include "engine/mariadb/hosted/thd/vio_hooks.h"

namespace postern::mariadb {

/// The command is the conversation's next; see do_command() for the result. The thread is attached.
dispatch_command_return serve_command(THD *thd, Conversation &conversation);

}  // namespace postern::mariadb
