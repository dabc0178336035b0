#include "door/worker_connections.h"

#include <utility>

namespace postern::door {

WorkerConnections::WorkerConnections(const Context &context)
    : context_(context),
      sleepers_(context.doorbell),
      timeouts_(context.options),
      tls_handshakes_(context.options, context.counters) {}

std::unique_ptr<Connection> WorkerConnections::make(net::AnyChannel channel, descriptors::Held descriptor, bool local,
                                                    Roster &roster) const {
  const net::TlsContext *const tls = context_.options.tls;
  return std::make_unique<Connection>(std::move(channel), std::move(descriptor), context_.protocol, local,
                                      Connection::Tls{.offered = tls != nullptr && tls->loaded(),
                                                      .required = tls != nullptr && context_.options.require_tls},
                                      sleepers_, roster);
}

/// All requests that its session has collected are answered.
inline void WorkerConnections::note_settled(Connection &connection) {
  const uint32_t errors = connection.output.take_errors();
  if (errors != 0) context_.counters.add(Counter::requests_failed, errors);
  connection.session->settled();
  connection.note_served();
}

void WorkerConnections::add(std::unique_ptr<Connection> owned) {
  Connection &connection = *owned;
  const bool was_watched = connection.is_served_away;
  const bool unread = connection.unread();
  connection.output.bound_to_turn();
  const bool all_done = !connection.has_put_off();
  context_.guard.on_behalf_of(connection, [&] {
    lists_.make_room_for(count());
    timeouts_.make_room_for(connection, count());
  });
  if (!lists_.has_room()) {
    context_.counters.add(Counter::connections_closed);
    discount(1);
    return;
  }
  connection.ops_are_lent = connection.is_served_away = false;
  connection.come_home(all_done);
  if (was_watched) connection.set_unread(unread);
  if (connection.session_is_open()) {
    if (all_done) context_.guard.on_behalf_of(connection, [&] { note_settled(connection); });
  } else {
    context_.guard.on_behalf_of(connection, [&] { connection.begin(); });
    if (connection.is_dead() && connection.hosted() != nullptr) context_.counters.add(Counter::logins_failed);
  }
  if (!was_watched) watch(connection);
  if (Sleeper *const sleeper = connection.sleeper(); sleeper != nullptr) sleepers_.bring_home(*sleeper);
  timeouts_.add(*owned.release(), now_ms_);
  lists_.add_to_this_turn(connection);
}

void WorkerConnections::watch(Connection &connection) {
  connection.armed = connection.events_to_receive();
  // After the session's end its socket's number may belong to another one.
  if (!connection.is_dead() && !context_.poller.add(connection.channel.fd(), connection.armed, &connection))
    connection.die();
}

/// Continues a connection that the last turn has left for this one.
void WorkerConnections::go_on_with(Connection &connection) {
  context_.guard.on_behalf_of(connection, [&] {
    if (connection.phase() == Phase::queued) begin_handshake(connection);
    else if (connection.phase() == Phase::handshaking || connection.unread()) receive(connection);
  });
}

/// Its client sends no more.
void WorkerConnections::note_end(Connection &connection) {
  if (connection.lives_by_sending()) connection.die();
  connection.note_end_told();
  wake(connection);
}

/// The poller reports bytes, or the end of the stream, for a connection with lent ops. While the pool serves one, its
/// phase belongs to the pool's thread: this one learns of the end when the connection is home.
void WorkerConnections::note_event_away(Connection &connection, uint32_t events) {
  const uint32_t ends = connection.is_served_away ? net::Poller::ended | net::Poller::hung_up : net::Poller::ended;
  if (events & ends) connection.note_end_told();
  else if (events & net::Poller::readable) connection.set_unread(true);
  else if (events & net::Poller::hung_up) connection.die();
  if (connection.armed == Connection::told_once) return;
  // Otherwise the poller would report it again and again.
  connection.armed = net::Poller::readable | net::Poller::once;
  if (!context_.poller.change(connection.channel.fd(), connection.armed, &connection)) connection.die();
}

void WorkerConnections::receive(Connection &connection) {
  connection.set_unread(true);
  if (connection.has_work() || !connection.receives()) return;
  const bool shakes_hands = connection.phase() == Phase::handshaking;
  if (shakes_hands && !tls_handshakes_.may_step()) return lists_.add_to_next_turn(connection);
  const net::Transfer got = connection.channel.receive(connection.input, connection.receive_bytes());
  context_.counters.add(Counter::receives);
  if (got.result == net::Transfer::Result::no_memory) return refuse(connection, Failure::out_of_memory);
  context_.counters.add(Counter::bytes_received, got.bytes);
  connection.listed.note_received(got.bytes);
  if (shakes_hands && got.result != net::Transfer::Result::failed) tls_handshakes_.note_received(connection);
  connection.note_received(got);
  if (connection.phase() == Phase::ended && connection.listed.is_ended()) return connection.die();
  if (connection.phase() == Phase::sniffing && connection.has_work()) look_at_first_byte(connection);
}

/// Decides by the first byte whether it is TLS, and if not, whether clear text is allowed.
void WorkerConnections::look_at_first_byte(Connection &connection) {
  if (TlsHandshakes::wanted_by(connection)) return begin_handshake(connection);
  if (connection.lacks_tls()) return refuse(connection, Failure::tls_required);
  connection.first_byte_is_plain();
}

void WorkerConnections::begin_handshake(Connection &connection) {
  if (tls_handshakes_.begin(connection)) receive(connection);
  else lists_.add_to_next_turn(connection);
}

void WorkerConnections::send_released(Connection &connection) {
  const net::Transfer put = connection.channel.send(connection.output);
  context_.counters.add(Counter::sends);
  context_.counters.add(Counter::bytes_sent, put.bytes);
  connection.listed.note_sent(put.bytes);
  if (put.result == net::Transfer::Result::failed) connection.die();
  if (put.bytes != 0) note_progress(connection);
}

void WorkerConnections::settle(Connection &connection) {
  note_progress(connection);
  connection.forget_put_off();
  connection.output.release();
  context_.guard.on_behalf_of(connection, [&] { note_settled(connection); });
  connection.input.settle();
}

void WorkerConnections::finish_with(Connection &connection) {
  if (connection.ops_are_lent) return;
  if (connection.is_called()) deliver(connection);
  send(connection);
  connection.settle_phase();
  if (connection.has_left_clear()) {
    context_.guard.on_behalf_of(connection, [&] { tls_handshakes_.begin(connection); });
    lists_.add_to_next_turn(connection);
  }
  if (connection.is_dead()) return lists_.add_dead(connection);
  if (connection.has_work() && !connection.output.above_high_water()) lists_.add_to_next_turn(connection);
  timeouts_.sort_in(connection, now_ms_);
  connection.note_doing();
  arm(connection);
}

/// Sets the poller's events, if they have changed.
void WorkerConnections::arm(Connection &connection) {
  if (connection.may_hide_bytes()) lists_.add_to_next_turn(connection);
  const uint32_t wanted = connection.events_wanted();
  if (wanted == connection.armed) {
    if (wanted == Connection::told_once && connection.unread() && !connection.is_asleep())
      lists_.add_to_next_turn(connection);
    return;
  }
  connection.armed = wanted;
  if (!context_.poller.change(connection.channel.fd(), wanted, &connection)) {
    connection.die();
    lists_.add_dead(connection);
  }
}

void WorkerConnections::end_turn() {
  lists_.end_turn();
  timeouts_.visit_silent(now_ms_, [this](Connection &connection) {
    if (!connection.is_dead()) time_out(connection);
  });
  timeouts_.visit_alarms(now_ms_, [this](Connection &connection) {
    timeouts_.stop_alarm(connection);
    wake(connection);
    if (!connection.is_dead()) lists_.add_to_next_turn(connection);
  });
  close_unfinished();
  if (tls_handshakes_.waiting() != 0) make_way_for_handshakes();
  close_dead();
}

void WorkerConnections::close_dead() {
  lists_.visit_dead([this](Connection &connection) { close(connection); });
}

/// A client that has begun a request or a handshake has to finish it in time.
void WorkerConnections::close_unfinished() {
  timeouts_.visit_unfinished(now_ms_, [this](Connection &connection) {
    if (connection.is_dead()) return;
    context_.counters.add(Counter::connections_timed_out);
    refuse(connection, Failure::request_timed_out);
    finish_with(connection);
  });
}

void WorkerConnections::take_into_turn(Connection &connection) {
  connection.ops_are_lent = false;
  timeouts_.add(connection, now_ms_);
  lists_.add_to_this_turn(connection);
}

void WorkerConnections::take_back(Connection &connection, bool all_done) {
  connection.ops_are_lent = false;
  // The poller still has the events of bytes that came meanwhile.
  const bool unread = connection.unread() || connection.has_tls();
  connection.come_home(all_done);
  connection.set_unread(unread);
  // This may show that no work is left: then the connection needs no turn, and stays armed.
  if (all_done && !connection.is_dead()) context_.guard.on_behalf_of(connection, [&] { note_settled(connection); });
  timeouts_.add(connection, now_ms_);
  finish_with(connection);
  close_dead();
}

std::unique_ptr<Connection> WorkerConnections::let_go(Connection &connection) {
  if (Sleeper *const sleeper = connection.sleeper(); sleeper != nullptr) sleepers_.send_away(*sleeper);
  timeouts_.remove(connection);
  lists_.remove(connection);
  return std::unique_ptr<Connection>(&connection);
}

}  // namespace postern::door
