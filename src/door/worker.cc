#include "door/worker.h"

#include <algorithm>
#include <new>

#include "base/limits.h"
#include "base/log.h"

namespace postern::door {

Worker::Worker(const Context &context, uint32_t number)
    : context_(context),
      name_(context.options.name + " worker " + std::to_string(number)),
      crew_(std::make_shared<Crew>(name_, &Worker::work, this, context.watch)),
      has_writers_(context.access == Access::write || context.options.statements_write),
      write_runs_(context.engine, context.write_lane),
      events_(limits::events_per_turn_max),
      timeouts_(context.options),
      tls_handshakes_(context.options, counters_),
      guard_(name_, counters_),
      slow_log_(context.options, counters_),
      statements_here_(context.engine, context.watch),
      shown_(name_, number == 1),
      permit_(context.engine.tells_of_waits() ? &Permits::of_process() : nullptr),
      sibling_(Siblings::of_process(), poller_.fd()) {
  context.watch.look_after(*crew_, poller_.fd());
}

Worker::~Worker() {
  join();
}

bool Worker::start() {
  if (!poller_ || !poller_.add(wake_.fd(), net::Poller::readable, nullptr)) return false;
  return crew_->start();
}

void Worker::stop() {
  stop_.store(true, std::memory_order_release);
  wake_.wake();
  crew_->stop();
}

void Worker::join() {
  crew_->join();
}

void Worker::add_counters(Counters &sum) const {
  sum.absorb(counters_);
  crew_->add_counters(sum);
}

/// A request's whole life on this thread. The order matters: every request of the batch has arrived before its read
/// view opens, and no reply leaves before the batch that justifies it is settled.
///
/// execute() is run, settle and send, more than once where that lets answers leave earlier: first for the connections
/// that only read, then for the others; and within a run that only reads for each connection after its last op, and for
/// each long reply. finish() sends the rest.
void Worker::run_turn() {
  const size_t events = wait();
  times_.begin();
  receive(events);
  await_writers();
  collect();
  execute();
  finish();
  times_.end();
  clock_.end(counters_);
  housekeep();
}

size_t Worker::wait() {
  int timeout_ms = 0;
  const bool at_work = lists_.next_turn_size() > tls_handshakes_.waiting() || !statements_here_.empty();
  if (!at_work) {
    shown_.show(*executor_, connections());
    if (holds_tables_) {
      timeout_ms = limits::linger_ms;
    } else {
      shown_.hide_if_idle(*executor_);
      int64_t left_ms = timeouts_.left_ms(now_ms_);
      if (tls_handshakes_.waiting() != 0) left_ms = std::min<int64_t>(left_ms, limits::handshake_look_ms);
      if (look_ms_ != 0) left_ms = std::min<int64_t>(left_ms, look_ms_);
      timeout_ms = left_ms == INT64_MAX ? -1 : static_cast<int>(std::clamp<int64_t>(left_ms, 1, 3'600'000));
    }
  }
  sibling_.leave_turn();
  permit_.give_back();
  sibling_.end_turn(clock_.began_us(), at_work);
  const size_t count = poller_.wait(events_, timeout_ms);
  const bool holds = holds_tables_;
  now_ms_ = clock_.begin();
  sibling_.begin_turn(clock_.began_us());
  if ((count == 0 && !at_work && holds) || is_look_due()) rest();
  permit_.take();
  return count;
}

/// Nothing came for a while: others must not wait for the tables that the executor holds.
void Worker::rest() {
  look_ms_ = executor_->rest();
  rested_ms_ = now_ms_;
  holds_tables_ = false;
}

/// A batch has been run. A worker that keeps no tables for its clients sleeps without a timer: that would be set for
/// each of their statements, and go off after the last.
void Worker::note_kept_tables() {
  holds_tables_ = executor_->keeps_tables();
  if (!holds_tables_ && look_ms_ == 0) rest();
}

/// All of them.
void Worker::give_up_tables() {
  executor_->idle();
  look_ms_ = 0;
  holds_tables_ = false;
}

void Worker::receive(size_t event_count) {
  tls_handshakes_.begin_turn();
  lists_.begin_turn([this](Connection &connection) {
    guard_.on_behalf_of(connection, [&] {
      if (connection.phase() == Phase::queued) begin_handshake(connection);
      else if (connection.phase() == Phase::handshaking || connection.unread()) receive_from(connection);
    });
  });
  bool woken = false;
  bool clients_come = false;
  for (const epoll_event &event : std::span(events_).first(event_count)) {
    if (event.data.ptr == nullptr) {
      woken = true;
      continue;
    }
    if (net::Listener *const socket = context_.reception.socket_of(event.data.ptr); socket != nullptr) {
      accept_clients(*socket);
      clients_come = true;
      continue;
    }
    Connection &connection = *static_cast<Connection *>(event.data.ptr);
    if (connection.ops_are_lent) {
      note_event_away(connection, event.events);
      continue;
    }
    if (event.events & net::Poller::readable ||
        (connection.has_tls() && connection.channel.wishes().writable_to_receive)) {
      guard_.on_behalf_of(connection, [&] { receive_from(connection); });
      if (event.events & net::Poller::ended) note_end(connection);
    } else if (event.events & net::Poller::hung_up) {
      connection.die();
    } else if (event.events & net::Poller::ended && connection.is_asleep()) {
      note_end(connection);
    }
    lists_.add_to_this_turn(connection);
  }
  if (!clients_come) accepts_max_ = 1;
  if (!woken) return;
  wake_.drain();
  Arrivals arrivals = inbox_.take();
  while (std::unique_ptr<Connection> connection = arrivals.next()) adopt(std::move(connection));
  take_writes_home();
  take_sleepers();
}

/// Its client sends no more.
void Worker::note_end(Connection &connection) {
  if (connection.lives_by_sending()) connection.die();
  connection.note_end_told();
  wake(connection);
}

void Worker::receive_from(Connection &connection) {
  connection.set_unread(true);
  if (connection.has_work() || !connection.receives()) return;
  const bool shakes_hands = connection.phase() == Phase::handshaking;
  if (shakes_hands && !tls_handshakes_.may_step()) return lists_.add_to_next_turn(connection);
  const net::Transfer got = connection.channel.receive(connection.input, connection.receive_bytes());
  counters_.add(Counter::receives);
  if (got.result == net::Transfer::Result::no_memory) return refuse(connection, Failure::out_of_memory);
  counters_.add(Counter::bytes_received, got.bytes);
  connection.listed.note_received(got.bytes);
  if (shakes_hands && got.result != net::Transfer::Result::failed) tls_handshakes_.note_received(connection);
  connection.note_received(got);
  if (connection.phase() == Phase::ended && connection.listed.is_ended()) return connection.die();
  if (connection.phase() == Phase::sniffing && connection.has_work()) look_at_first_byte(connection);
}

/// Is it TLS, and if not, may it be anything else?
void Worker::look_at_first_byte(Connection &connection) {
  if (TlsHandshakes::wanted_by(connection)) return begin_handshake(connection);
  if (connection.lacks_tls()) return refuse(connection, Failure::tls_required);
  connection.first_byte_is_plain();
}

void Worker::begin_handshake(Connection &connection) {
  if (tls_handshakes_.begin(connection)) receive_from(connection);
  else lists_.add_to_next_turn(connection);
}

void Worker::collect() {
  turn_->clear();
  turn_->began_us = clock_.began_us();
  const std::vector<Connection *> &connections = lists_.this_turn();
  for (uint32_t i = 0; i < connections.size(); ++i) {
    Connection &connection = *connections[i];
    if (connection.is_dead() || !connection.has_work()) continue;
    // Back-pressure: nothing is done for a client that does not take its answers.
    if (connection.output.above_high_water()) continue;
    if (turn_->room() == 0) continue;
    const Turn::Slice slice = turn_->begin(connection, i);
    try {
      collect_from(connection, slice);
      turn_->add(slice);
    } catch (const std::bad_alloc &) {
      turn_->forget(slice);
      connection.put_off.reset();
      guard_.on_behalf_of(connection, [&] { refuse(connection, Failure::out_of_memory); });
    }
  }
}

void Worker::collect_from(Connection &connection, const Turn::Slice &slice) {
  if (connection.put_off != nullptr) return turn_->add_put_off(*connection.put_off);
  const auto ops_max = static_cast<uint32_t>(std::min<size_t>(limits::ops_per_connection_max, turn_->room()));
  const size_t before = turn_->batch().size();
  connection.note_collected(connection.session->collect(connection.input, turn_->batch(), ops_max));
  if (const std::span<const Op> ops = turn_->batch().ops(); ops.size() > before)
    connection.listed.note_requests(ops.size() - before, ops.back().verb);
  if (connection.is_asleep()) put_to_sleep(connection);
  if (!connection.lacks_tls() || !turn_->asks_engine(slice)) return;
  turn_->forget(slice);
  refuse(connection, Failure::tls_required);
}

void Worker::execute() {
  if (turn_->empty()) {
    // Bytes that never become a request wake us again and again: that is no reason to hold tables.
    if (holds_tables_ && now_ms_ - executed_ms_ > limits::linger_ms) rest();
    return;
  }
  executed_ms_ = now_ms_;
  run_batch();
  note_kept_tables();
}

void Worker::run_batch() {
  const std::span<Turn::Slice> all = turn_->slices();
  const size_t readers = has_writers_ ? turn_->put_readers_first() : 0;
  if (readers == all.size() || !has_writers_) {
    write_runs_.note_other_run();
    run_readers(all);
    return;
  }
  if (readers != 0) {
    run_readers(all.first(readers));
    for (Connection *const connection : lists_.this_turn()) send_released(*connection);
  }
  const std::span<Turn::Slice> writers = all.subspan(readers);
  if (!write_runs_.suit_lane(*turn_, readers, turns_away_.any(), now_ms_)) run_writers(writers);
  else if (!give_away(readers)) keep_writers(writers);
}

/// Times are noted for the forms of the statements.
void Worker::run_timed(std::span<Turn::Slice> slices) {
  if (times_.is_on()) times_.expect(turn_->ops_of_all(slices));
  turn_->run(*executor_, slices, this, counters_);
  if (times_.is_on()) times_.note(turn_->ops_of_all(slices));
}

inline void Worker::run_readers(std::span<Turn::Slice> readers) {
  run_timed(readers);
  if (has_writers_) write_runs_.note_readers(*turn_, readers, now_ms_);
  settle(readers);
}

void Worker::op_done(const Op &op) {
  Turn::Slice &slice = turn_->slice_running(op);
  const size_t bytes = slice.connection->output.pending_bytes();
  if (&op != turn_->last_of(slice)) {
    if (bytes >= limits::reply_bytes_sent_ahead_min) send_ahead(slice, op);
    return;
  }
  if (!turn_->sends_early() && bytes < slice.count * limits::reply_bytes_sent_early_min) return;
  if (slow_log_.on()) slow_log_.note(*slice.connection, turn_->ops_of(slice), turn_->began_us);
  settle_answered(*slice.connection);
  slice.sent = true;
  send_released(*slice.connection);
}

/// Sends the replies of a slice up to that of `op` before the rest is done.
void Worker::send_ahead(Turn::Slice &slice, const Op &op) {
  Connection &connection = *slice.connection;
  Output &output = connection.output;
  // A client that did not take all earlier bytes takes no more now.
  if (slice.bytes_sent_ahead >= limits::reply_bytes_sent_ahead_max || !output.sendable().empty()) return;
  slice.bytes_sent_ahead += output.pending_bytes();
  turn_->forget_until(slice, op);
  if (connection.put_off != nullptr) connection.put_off->busy_since_ms = -1;
  output.release();
  send_released(connection);
}

void Worker::settle(std::span<const Turn::Slice> slices) {
  for (const Turn::Slice &slice : slices) {
    if (slice.sent) continue;
    const std::span<Op> left = turn_->unfinished(slice);
    if (left.empty()) {
      if (slow_log_.on()) slow_log_.note(*slice.connection, turn_->ops_of(slice), turn_->began_us);
      settle_answered(*slice.connection);
    } else {
      timeouts_.note_progress(*slice.connection, now_ms_);
      guard_.on_behalf_of(*slice.connection, [&] { leave_unanswered(slice, left); });
    }
  }
}

void Worker::settle_answered(Connection &connection) {
  timeouts_.note_progress(connection, now_ms_);
  connection.put_off.reset();
  connection.output.release();
  guard_.on_behalf_of(connection, [&] { note_settled(connection); });
  connection.input.settle();
}

/// All that its session has collected is answered.
void Worker::note_settled(Connection &connection) {
  const uint32_t errors = connection.output.take_errors();
  if (errors != 0) counters_.add(Counter::requests_failed, errors);
  connection.session->settled();
  connection.note_served();
}

/// A later turn or the slow lane does what this turn has left of a connection's requests.
void Worker::leave_unanswered(const Turn::Slice &slice, std::span<Op> left) {
  Connection &connection = *slice.connection;
  left.front().reply->restart();
  connection.output.release();
  try {
    turn_->put_off(slice, left);
    if (left.front().progress == Progress::paused && connection.output.above_high_water()) return;
    if (left.front().progress == Progress::deferred) return;
    leave_for_slow_lane(connection);
  } catch (const std::bad_alloc &) {
    refuse_rest(connection, left);
  }
}

/// There is no memory to keep the ops that are left.
void Worker::refuse_rest(Connection &connection, std::span<Op> left) {
  for (Op &op : left) {
    count_failure(counters_, op, Failure::out_of_memory);
    op.reply->done({.failure = Failure::out_of_memory});
  }
  settle_answered(connection);
}

void Worker::send_released(Connection &connection) {
  if (connection.is_dead() || connection.output.sendable().empty()) return;
  const net::Transfer put = connection.channel.send(connection.output);
  counters_.add(Counter::sends);
  counters_.add(Counter::bytes_sent, put.bytes);
  connection.listed.note_sent(put.bytes);
  if (put.result == net::Transfer::Result::failed) connection.die();
  if (put.bytes != 0) timeouts_.note_progress(connection, now_ms_);
}

void Worker::finish() {
  for (Connection *const connection : lists_.this_turn()) finish_with(*connection);
}

/// Sends the rest, and ensures that the connection comes up again when there is something to do.
void Worker::finish_with(Connection &connection) {
  if (connection.ops_are_lent) return;
  if (connection.is_called()) deliver(connection);
  send_released(connection);
  connection.settle_phase();
  if (connection.has_left_clear()) {
    guard_.on_behalf_of(connection, [&] { tls_handshakes_.begin(connection); });
    lists_.add_to_next_turn(connection);
  }
  if (connection.is_dead()) return lists_.add_dead(connection);
  if (connection.has_work() && !connection.output.above_high_water()) lists_.add_to_next_turn(connection);
  timeouts_.sort_in(connection, now_ms_);
  connection.note_doing();
  arm(connection);
}

/// Sets the poller's events, if they have changed.
void Worker::arm(Connection &connection) {
  if (connection.may_hide_bytes()) lists_.add_to_next_turn(connection);
  const uint32_t wanted = connection.events_wanted();
  if (wanted == connection.armed) {
    if (wanted == Connection::told_once && connection.unread() && !connection.is_asleep())
      lists_.add_to_next_turn(connection);
    return;
  }
  connection.armed = wanted;
  if (!poller_.change(connection.channel.fd(), wanted, &connection)) {
    connection.die();
    lists_.add_dead(connection);
  }
}

/// Ends the turn, and closes the connections that are dead or out of time.
void Worker::housekeep() {
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
  lists_.visit_dead([this](Connection &connection) { close(connection); });
}

/// A client that has begun a request or a handshake has to finish it in time.
void Worker::close_unfinished() {
  timeouts_.visit_unfinished(now_ms_, [this](Connection &connection) {
    if (connection.is_dead()) return;
    counters_.add(Counter::connections_timed_out);
    refuse(connection, Failure::request_timed_out);
    finish_with(connection);
  });
}

}  // namespace postern::door
