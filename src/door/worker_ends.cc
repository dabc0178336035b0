// worker_ends.cc: how a worker ends connections: with words or without, one or all.
#include <memory>
#include <utility>

#include "door/worker.h"

namespace postern::door {

/// Sends the client the reason of the refusal, and closes the connection after that. Requests without an answer are
/// forgotten.
void Worker::refuse(Connection &connection, Failure why) {
  if (connection.begins_tls()) return connection.die();  // it would not understand
  wake(connection);
  connection.forget_unparsed();
  context_.protocol.refuse(connection.output, why);
  connection.output.release();
  connection.close_when_sent();
  counters_.add(why);
}

/// Clients that do not go on with their handshakes must not keep others from theirs.
void Worker::make_way_for_handshakes() {
  timeouts_.visit_begun_until(now_ms_ - limits::handshake_patience_ms, [this](Connection &connection) {
    if (connection.phase() == Phase::handshaking && !connection.in_next_turn) time_out(connection);
  });
}

void Worker::time_out(Connection &connection) {
  if (ServerSession *const session = connection.hosted(); session != nullptr) session->time_out();
  connection.die();
  lists_.add_dead(connection);
  counters_.add(Counter::connections_timed_out);
}

void Worker::close(Connection &connection) {
  tls_handshakes_.forget(connection);
  if (connection.sleeper != nullptr) sleepers_.send_away(*connection.sleeper);
  lists_.remove(connection);
  timeouts_.remove(connection);
  std::unique_ptr<Connection> closed(&connection);
  if (ServerSession *const session = closed->hosted(); session != nullptr && session->alive()) {
    closed->put_off.reset();
    if (!session->end_at_once(closed->peer_has_ended())) {  // else the poller forgets the socket, which is closed
      poller_.remove(closed->channel.fd());
      context_.statements.end(std::move(closed));
    }
  }
  closed.reset();
  counters_.add(Counter::connections_closed);
  connection_count_.fetch_sub(1, std::memory_order_relaxed);
}

/// Nobody knows how far the turn has come: all connections are closed.
void Worker::break_off() {
  give_up_tables();
  turn_->clear();
  close_everybody();
}

void Worker::close_everybody() {
  lists_.clear();
  forget_statements();
  while (Connection *const connection = timeouts_.any()) close(*connection);
}

void Worker::close_all() {
  close_everybody();
  Arrivals refused = inbox_.close();
  while (refused.next() != nullptr) connection_count_.fetch_sub(1, std::memory_order_relaxed);
  refuse_writes();
}

}  // namespace postern::door
