// options.h: an administrator's choices for a door. Changing members may change while it is open: Door::change().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/changing.h"
#include "base/limits.h"
#include "contract/slow_request.h"
#include "net/tls_context.h"

namespace postern::door {

struct Options {
  /// Takes over the Changing members.
  void take_changes(const Options &from) {
    require_tls = from.require_tls;
    connections_max = from.connections_max;
    idle_timeout_ms = from.idle_timeout_ms;
    request_timeout_ms = from.request_timeout_ms;
    table_wait_ms = from.table_wait_ms;
    slow_request_us = from.slow_request_us;
  }

  std::string name;               ///< for threads, the process list and the log, e.g. "ping"
  std::string lets_in;            ///< everybody, secret or accounts; for INFORMATION_SCHEMA
  std::string host;               ///< numeric address
  uint16_t port = 0;              ///< 0: no TCP, unless any_port
  bool takes_others = false;      ///< it takes connections by Door::take(), even if it listens nowhere
  bool statements_write = false;  ///< statements of server sessions may write, whatever the door's access
  bool any_port = false;          ///< TCP on any free port, which Door::port() returns; for tests
  std::string unix_path;          ///< empty: no unix socket
  mode_t unix_mode = 0660;
  std::string unix_owner;          ///< user, user:group or :group; empty: the process's user
  net::TlsContext *tls = nullptr;  ///< outlives the door; nullptr: no TLS
  /// For new connections, except on unix sockets.
  Changing<bool> require_tls = false;
  int backlog = 1024;
  int send_buffer = 0;  ///< bytes; 0 leaves it to the kernel
  int receive_buffer = 0;
  uint32_t threads = 0;  ///< 0: threads_per_processor for each processor this process may use
  uint32_t threads_per_processor = 1;
  uint32_t scan_threads = 1;
  uint32_t committers = 2;      ///< threads of the write lane of a door that writes; at least 1
  uint32_t login_threads = 0;   ///< 0: the protocol has no logins
  uint32_t script_threads = 0;  ///< at most; 0: the protocol has no long scripts
  Changing<uint32_t> connections_max = limits::connections_max;
  Changing<int64_t> idle_timeout_ms = 300'000;  ///< 0: never
  Changing<int64_t> request_timeout_ms =
      60'000;                                ///< from a request's first byte to its last, or a handshake's; 0: never
  Changing<int64_t> table_wait_ms = 50'000;  ///< how long a request waits for a table that DDL holds
  Changing<int64_t> slow_request_us = 0;     ///< logs requests that take so long; 0: none
  TellSlow tell_slow = nullptr;
};

}  // namespace postern::door
