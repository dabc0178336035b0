// worker_connections_ends.cc: sleeping clients, timeouts, and the ends of connections.
#include <memory>
#include <utility>

#include "contract/server_session.h"
#include "door/worker_connections.h"

namespace postern::door {

void WorkerConnections::take_woken() {
  bool woken = false;
  while (Sleeper *const sleeper = sleepers_.next(woken)) {
    Connection &connection = sleeper->connection;
    if (connection.ops_are_lent) continue;  // it comes up again when it is home
    if (woken) wake(connection);
    lists_.add_to_this_turn(connection);
  }
}

void WorkerConnections::put_to_sleep(Connection &connection) {
  timeouts_.make_room_for_alarms(count());
  Sleeper *const sleeper = connection.sleeper();
  if (sleeper == nullptr || !sleepers_.lay_down(*sleeper)) return connection.wake_up();
  timeouts_.set_alarm(connection, connection.session->wake_ms());
  // The poller may have reported the client's end already, so it is armed again.
  if (connection.unread()) connection.armed = 0;
}

/// Wakes it, if it sleeps.
void WorkerConnections::wake(Connection &connection) {
  if (!connection.is_asleep()) return;
  sleepers_.take_out(*connection.sleeper());
  timeouts_.stop_alarm(connection);
  connection.wake_up();
}

/// Messages for its client follow the answers to its requests.
void WorkerConnections::deliver(Connection &connection) {
  Sleeper *const sleeper = connection.sleeper();
  if (sleeper == nullptr || connection.has_put_off()) return;
  if (connection.phase() != Phase::open && !connection.is_asleep()) return;
  sleeper->take_call();
  Delivered delivered = Delivered::close;
  context_.guard.on_behalf_of(connection, [&] { delivered = connection.session->deliver(); });
  connection.output.release();
  switch (delivered) {
    case Delivered::all: return;
    case Delivered::close: return connection.die();
    case Delivered::later: break;
  }
  sleeper->keep_call();
  send(connection);
  if (!connection.output.above_high_water()) lists_.add_to_next_turn(connection);
}

void WorkerConnections::refuse(Connection &connection, Failure why) {
  if (connection.begins_tls()) return connection.die();  // it would not understand clear text
  wake(connection);
  connection.forget_unparsed();
  context_.protocol.refuse(connection.output, why);
  connection.output.release();
  connection.note_refused();
  connection.close_when_sent();
  context_.counters.add(why);
}

/// Clients that stall in their handshakes must not block others.
void WorkerConnections::make_way_for_handshakes() {
  timeouts_.visit_begun_until(now_ms_ - limits::handshake_patience_ms, [this](Connection &connection) {
    if (connection.phase() == Phase::handshaking && !connection.in_next_turn) time_out(connection);
  });
}

void WorkerConnections::time_out(Connection &connection) {
  if (ServerSession *const session = connection.hosted(); session != nullptr) session->time_out();
  connection.die();
  lists_.add_dead(connection);
  context_.counters.add(Counter::connections_timed_out);
}

void WorkerConnections::close(Connection &connection) {
  tls_handshakes_.forget(connection);
  std::unique_ptr<Connection> closed = let_go(connection);
  if (ServerSession *const session = closed->hosted(); session != nullptr && session->alive()) {
    closed->forget_put_off();
    if (!session->end_at_once(closed->peer_has_ended())) {  // otherwise closing the socket removes it from the poller
      context_.poller.remove(closed->channel.fd());
      context_.statements.end(std::move(closed));
    }
  }
  closed.reset();
  context_.counters.add(Counter::connections_closed);
  discount(1);
}

void WorkerConnections::close_all() {
  lists_.clear();
  while (Connection *const connection = timeouts_.any()) close(*connection);
}

}  // namespace postern::door
