#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/main_port.h"

#include <mutex>
#include <new>
#include <utility>

#include "engine/engine.h"
#include "engine/mariadb/basics/told_waits.h"

namespace postern::mariadb {
namespace {

thread_local CONNECT *let_in = nullptr;

std::mutex mutex;  // guards what follows, and is held while a connection is handed over; taken by the server's acceptor
engine::TakeConnection take = nullptr;
void *taker = nullptr;
decltype(scheduler_functions::add_connection) servers_own = nullptr;

/// True if it is the door's, or was closed by it.
bool hand_over(CONNECT *connect) {
  const std::lock_guard guard(mutex);
  if (take == nullptr) return false;
  scheduler_functions *const before = std::exchange(connect->scheduler, hosting_scheduler());
  const int fd = mysql_socket_getfd(connect->sock);
  const bool local = connect->vio_type == VIO_TYPE_SOCKET;
  let_in = connect;
  try {
    take(taker, fd, local);
  } catch (const std::bad_alloc &) {
  }
  if (take_let_in() == nullptr) return true;  // a session has it, or had it
  connect->scheduler = before;
  return false;
}

void arrive(CONNECT *connect) {
  if (!hand_over(connect)) servers_own(connect);
}

}  // namespace

scheduler_functions *hosting_scheduler() {
  static scheduler_functions functions = [] {
    scheduler_functions made{};
    made.max_threads = thread_scheduler->max_threads;
    made.connection_count = thread_scheduler->connection_count;
    made.max_connections = thread_scheduler->max_connections;
    made.add_connection = [](CONNECT *connect) { let_in = connect; };
    made.post_kill_notification = post_kill_notification;
    made.thd_wait_begin = [](THD *, int) { ToldWaits::begin(); };
    return made;
  }();
  return &functions;
}

CONNECT *take_let_in() {
  return std::exchange(let_in, nullptr);
}

}  // namespace postern::mariadb

namespace postern::engine {

void take_main_port(TakeConnection take, void *to) {
  using namespace mariadb;
  const std::lock_guard guard(mariadb::mutex);
  mariadb::take = take;
  taker = to;
  // The server's acceptor may be in arrive() yet when the port is given back: what that calls stays.
  if (servers_own == nullptr) servers_own = thread_scheduler->add_connection;
  thread_scheduler->add_connection = take != nullptr ? arrive : servers_own;
}

}  // namespace postern::engine
