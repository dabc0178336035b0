// main_port.h: connections to the server's own port and socket on their way to a door (engine::take_main_port).
#pragma once

class CONNECT;
struct scheduler_functions;

namespace postern::mariadb {

/// The server's scheduler for connections that doors have: like one thread per connection, but that it notes the
/// accepted connection for the calling thread (take_let_in). Sessions keep the pointer; it lives as long as the
/// library.
scheduler_functions *hosting_scheduler();
/// The connection that this thread was handed last; once.
CONNECT *take_let_in();

}  // namespace postern::mariadb
