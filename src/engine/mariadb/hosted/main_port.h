// main_port.h: passes connections of the server's own port and socket to a door (engine::take_main_port).
#pragma once

class CONNECT;
struct scheduler_functions;

namespace postern::mariadb {

/// The server's scheduler for doors' connections: like one-thread-per-connection, but it notes the accepted connection
/// for the calling thread (take_let_in). Sessions keep the pointer; it lives as long as the library.
scheduler_functions *hosting_scheduler();
/// Takes the connection that was last noted for this thread.
CONNECT *take_let_in();

}  // namespace postern::mariadb
