#include "door/worker.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"
#include "net/plain_channel.h"

namespace postern::door {
namespace {

/// The poller tells of bytes, and of their end, when they come, and not once more in each turn until they are received.
constexpr uint32_t told_once = net::Poller::readable | net::Poller::ended | net::Poller::once_each;

/// A client that fills its room may have more for us the next time, too; one that needs little of it gives it back.
uint32_t next_room(uint32_t room, const net::Transfer &got) {
  if (got.filled)
    return static_cast<uint32_t>(std::min(2 * std::max<size_t>(room, got.bytes), limits::block_bytes_recycled_max));
  if (got.bytes >= room / 4) return room;
  return room / 2;
}

}  // namespace

Worker::Worker(const Context &context, std::string name)
    : context_(context),
      name_(std::move(name)),
      events_(limits::events_per_turn_max),
      roster_(context.settings),
      greetings_(context.settings, context.protocol, counters_) {}

Worker::~Worker() {
  join();
}

bool Worker::start() {
  if (!poller_ || !poller_.add(wake_.fd(), net::Poller::readable, nullptr)) return false;
  return thread_.start([](void *self) { static_cast<Worker *>(self)->work(); }, this, name_);
}

void Worker::stop() {
  stop_.store(true, std::memory_order_release);
  wake_.wake();
}

void Worker::join() {
  thread_.join();
}

std::unique_ptr<Connection> Worker::greet(net::Fd socket, descriptors::Held descriptor, const Peer &peer) const {
  Peer known = peer;
  known.fd = socket.get();
  auto connection = std::make_unique<Connection>(std::make_unique<net::PlainChannel>(std::move(socket)),
                                                 std::move(descriptor), context_.protocol, known);
  connection->fresh = context_.settings.tls != nullptr;
  return connection;
}

void Worker::give(std::unique_ptr<Connection> connection) noexcept {
  connection_count_.fetch_add(1, std::memory_order_relaxed);
  take_back(std::move(connection));
}

void Worker::take_back(std::unique_ptr<Connection> connection) noexcept {
  if (!inbox_.put(connection)) connection_count_.fetch_sub(1, std::memory_order_relaxed);
  wake_.wake();
}

void Worker::work() {
  const ThreadIdentity who{
      .access = context_.access, .name = name_.c_str(), .wake_fd = wake_.fd(), .counters = &counters_};
  // Else the kernel may add 50 us to each of gather()'s waits.
  if (context_.access == Access::write) ::prctl(PR_SET_TIMERSLACK, 1'000);
  try {
    executor_ = context_.engine.attach(who, stop_);
  } catch (const std::bad_alloc &) {
    log::error("%s: out of memory", name_.c_str());
  }
  if (executor_ != nullptr) {
    go_idle();
    context_.worker_ready(context_.door);
    while (!stop_.load(std::memory_order_acquire) && executor_->standing() == Standing::good) {
      try {
        run_turn();
      } catch (const std::bad_alloc &) {
        break_off();
      }
    }
    executor_->idle();
  }
  close_all();
  executor_.reset();
  pool::drain();
  if (!stop_.load(std::memory_order_acquire)) context_.server_stopping(context_.door);
}

/// Out of memory ends one connection, and no other, where it is found out on behalf of that one.
template <class Step>
void Worker::guard(Connection &connection, Step step) {
  try {
    step();
  } catch (const std::bad_alloc &) {
    counters_.add(Failure::out_of_memory);
    connection.dead = true;
  }
}

/// There is no telling how far a turn has come that ran out of memory where nobody saw to it: everybody leaves.
void Worker::break_off() {
  static log::Limited limited;
  if (uint64_t missed; limited.pass(missed)) log::error("%s: out of memory, closing its connections", name_.c_str());
  counters_.add(Failure::out_of_memory);
  executor_->idle();
  holds_tables_ = false;
  for (std::vector<Connection *> *const list : {&ready_, &carried_, &resumed_, &dead_}) list->clear();
  turn_.clear();
  close_everybody();
}

/// A request's whole life on this thread. The order matters: every request of the batch has arrived before its read
/// view opens, and no reply leaves before the batch that justifies it is settled.
void Worker::run_turn() {
  receive(wait());
  gather();
  collect();
  execute();
  send();
  tend();
}

size_t Worker::wait() {
  int timeout_ms = 0;
  const bool at_work = carried_.size() > greetings_.waiting();
  if (!at_work) {
    describe_connections();
    if (holds_tables_) {
      timeout_ms = limits::linger_ms;
    } else {
      int64_t left_ms = roster_.left_ms(now_ms_);
      if (greetings_.waiting() != 0) left_ms = std::min<int64_t>(left_ms, limits::handshake_look_ms);
      timeout_ms = left_ms == INT64_MAX ? -1 : static_cast<int>(std::clamp<int64_t>(left_ms, 1, 3'600'000));
    }
  }
  const size_t count = poller_.wait(events_, timeout_ms);
  if (count == 0 && !at_work && holds_tables_) go_idle();
  now_ms_ = clock_ms();
  return count;
}

/// Nothing came for a while: nobody shall wait for what we hold.
void Worker::go_idle() {
  executor_->idle();
  holds_tables_ = false;
}

void Worker::describe_connections() {
  const uint32_t connections = connection_count_.load(std::memory_order_relaxed);
  if (connections == described_connections_) return;
  described_connections_ = connections;
  char text[100];
  const int size = std::snprintf(text, sizeof text, "%.60s: %u connection%s", name_.c_str(), connections,
                                 connections == 1 ? "" : "s");
  executor_->describe({text, static_cast<size_t>(size)});
}

void Worker::receive(size_t event_count) {
  greetings_.begin_turn();
  resumed_.swap(carried_);
  for (Connection *const connection : resumed_) {
    connection->carried = false;
    guard(*connection, [&] {
      if (connection->greeting || connection->unread) receive_from(*connection);
      if (connection->is_queued()) begin_greeting(*connection);
    });
    make_ready(*connection);
  }
  resumed_.clear();
  bool woken = false;
  for (const epoll_event &event : std::span(events_).first(event_count)) {
    if (event.data.ptr == nullptr) {
      woken = true;
      continue;
    }
    Connection &connection = *static_cast<Connection *>(event.data.ptr);
    if (event.events & net::Poller::readable || (connection.tls && connection.channel->wishes().writable_to_receive)) {
      guard(connection, [&] { receive_from(connection); });
      if (event.events & net::Poller::ended) connection.unread = true;  // behind what has been received
    } else if (event.events & net::Poller::hung_up) {
      connection.dead = true;
    }
    make_ready(connection);
  }
  if (!woken) return;
  wake_.drain();
  take_inbox();
}

void Worker::receive_from(Connection &connection) {
  connection.unread = true;
  if (connection.has_work() || connection.peer_ended || connection.closing || connection.is_queued()) return;
  if (connection.greeting && !greetings_.may_step()) return carry(connection);
  const uint32_t room = std::max<uint32_t>(connection.receive_bytes, limits::block_bytes_min / 4);
  const net::Transfer got = connection.channel->receive(connection.input, room);
  counters_.add(Counter::receives);
  connection.unread = got.result == net::Transfer::Result::some && got.filled;
  switch (got.result) {
    case net::Transfer::Result::some:
      counters_.add(Counter::bytes_received, got.bytes);
      connection.more = true;
      connection.receive_bytes = next_room(room, got);
      break;
    case net::Transfer::Result::would_block: connection.input.settle(); break;
    case net::Transfer::Result::ended:
      counters_.add(Counter::bytes_received, got.bytes);
      connection.more = got.bytes != 0;
      connection.peer_ended = true;
      if (!connection.more) connection.input.settle();
      break;
    case net::Transfer::Result::failed: connection.dead = true; break;
    case net::Transfer::Result::no_memory: refuse(connection, Failure::out_of_memory); break;
  }
  if (connection.greeting) greetings_.note_received(connection);
  if (connection.fresh && connection.more) begin_greeting(connection);
}

/// Of those who are about to ask, as many as come soon enough.
void Worker::gather() {
  if (ready_.empty() || !gathering_.begin()) return;
  while (ready_.size() < connection_count_.load(std::memory_order_relaxed)) {
    const size_t count = gathering_.wait(poller_, events_);
    const size_t ready = ready_.size();
    if (count != 0) receive(count);
    if (ready_.size() == ready) return;
  }
}

/// The first byte is here: is it TLS, and if not, may it be anything else?
void Worker::begin_greeting(Connection &connection) {
  if (!Greetings::wanted_by(connection)) {
    connection.fresh = false;
    if (context_.settings.require_tls && !connection.local) refuse(connection, Failure::tls_required);
  } else if (greetings_.begin(connection)) {
    receive_from(connection);
  } else {
    carry(connection);
  }
}

/// Tells the client why it is turned away, and closes when that has left. What it asked and has not been answered
/// is forgotten.
void Worker::refuse(Connection &connection, Failure why) {
  if (connection.greeting || connection.is_queued()) {  // it would not understand
    connection.dead = true;
    return;
  }
  connection.input.consume(connection.input.unparsed_bytes());
  connection.input.settle();
  connection.more = false;
  context_.protocol.refuse(connection.output, why);
  connection.output.release();
  connection.closing = true;
  counters_.add(why);
}

void Worker::collect() {
  turn_.clear();
  for (uint32_t i = 0; i < ready_.size(); ++i) {
    Connection &connection = *ready_[i];
    if (connection.dead || !connection.has_work()) continue;
    // Back-pressure: nothing is done for a client that does not take its answers.
    if (connection.output.above_high_water()) continue;
    const size_t room = turn_.room();
    if (room == 0) continue;
    const Turn::Slice slice = turn_.begin(connection, i);
    try {
      collect_from(connection, room);
      turn_.add(slice);
    } catch (const std::bad_alloc &) {
      turn_.forget(slice);
      connection.put_off.reset();
      guard(connection, [&] { refuse(connection, Failure::out_of_memory); });
    }
  }
}

void Worker::collect_from(Connection &connection, size_t room) {
  if (connection.put_off != nullptr) {
    if (connection.put_off->ops.size() > room) return;
    for (const Op &op : connection.put_off->ops) turn_.batch().add(op);
    return;
  }
  const auto ops_max = static_cast<uint32_t>(std::min<size_t>(limits::ops_per_connection_max, room));
  const Collected collected = connection.session->collect(connection.input, turn_.batch(), ops_max);
  connection.more = collected == Collected::more;
  if (collected == Collected::close) connection.closing = true;
}

void Worker::execute() {
  if (turn_.empty()) {
    // Something wakes us again and again that never becomes a request: that is no reason to hold tables.
    if (holds_tables_ && now_ms_ - executed_ms_ > limits::linger_ms) go_idle();
    return;
  }
  executed_ms_ = now_ms_;
  holds_tables_ = true;
  const std::span<Turn::Slice> all = turn_.slices();
  const size_t readers = context_.access == Access::write ? turn_.put_readers_first() : 0;
  if (readers != 0 && readers != all.size()) {
    turn_.run(*executor_, all.first(readers), *this);
    settle(all.first(readers));
    for (Connection *const connection : ready_) send_released(*connection);
  }
  const std::span<Turn::Slice> rest = readers == all.size() ? all : all.subspan(readers);
  const bool shares = readers != all.size() && all.size() > 1 && context_.access == Access::write;
  gathering_.begin_run(shares);
  turn_.run(*executor_, rest, *this);
  gathering_.end_run();
  settle(rest);
}

void Worker::answered(const Op &op) {
  Turn::Slice &slice = turn_.slice_running(op);
  const size_t bytes = slice.connection->output.pending_bytes();
  if (&op != turn_.last_of(slice)) {
    if (bytes >= limits::reply_bytes_sent_ahead_min) send_ahead(slice, op);
    return;
  }
  if (!turn_.sends_early() && bytes < slice.count * limits::reply_bytes_sent_early_min) return;
  settle_answered(*slice.connection);
  slice.answered = true;
  send_released(*slice.connection);
}

/// The replies of a slice up to that of `op` leave before the rest.
void Worker::send_ahead(Turn::Slice &slice, const Op &op) {
  Connection &connection = *slice.connection;
  Output &output = connection.output;
  // A client that did not take all of what was sent before takes no more now.
  if (slice.bytes_sent_ahead >= limits::reply_bytes_sent_ahead_max || !output.sendable().empty()) return;
  slice.bytes_sent_ahead += output.pending_bytes();
  turn_.forget_until(slice, op);
  if (connection.put_off != nullptr) connection.put_off->busy_since_ms = -1;
  output.release();
  send_released(connection);
}

void Worker::settle(std::span<const Turn::Slice> slices) {
  for (const Turn::Slice &slice : slices) {
    if (slice.answered) continue;
    const std::span<Op> left = turn_.unfinished(slice);
    if (left.empty()) {
      settle_answered(*slice.connection);
    } else {
      roster_.touch(*slice.connection, now_ms_);
      guard(*slice.connection, [&] { leave_unanswered(slice, left); });
    }
  }
}

void Worker::settle_answered(Connection &connection) {
  roster_.touch(connection, now_ms_);
  connection.put_off.reset();
  connection.output.release();
  guard(connection, [&] { connection.session->settled(); });
  connection.input.settle();
}

/// What a turn left of a connection's requests is for a later turn, or for the slow lane.
void Worker::leave_unanswered(const Turn::Slice &slice, std::span<Op> left) {
  Connection &connection = *slice.connection;
  left.front().reply->restart();
  connection.output.release();
  try {
    put_off(slice, left);
    if (left.front().progress == Progress::paused && connection.output.above_high_water()) return;
    if (left.front().progress == Progress::crowded) return;
    leave_for_slow_lane(connection);
  } catch (const std::bad_alloc &) {
    refuse_rest(connection, left);
  }
}

/// There is no memory to keep them.
void Worker::refuse_rest(Connection &connection, std::span<Op> left) {
  for (Op &op : left) {
    count_failure(counters_, op, Failure::out_of_memory);
    op.reply->done({.failure = Failure::out_of_memory});
  }
  settle_answered(connection);
}

void Worker::put_off(const Turn::Slice &slice, std::span<const Op> left) {
  Connection &connection = *slice.connection;
  if (connection.put_off == nullptr) {
    auto fresh = std::make_unique<PutOff>();
    if (!fresh->arena.keep(turn_.batch().arena(), slice.arena_from, slice.arena_to)) throw std::bad_alloc();
    connection.put_off = std::move(fresh);
  }
  // One that has to run alone was not let in, either: it waits since it first did.
  const bool waits_on = left.size() == slice.count &&
                        (left.front().progress == Progress::busy || left.front().progress == Progress::alone);
  if (!waits_on) connection.put_off->busy_since_ms = -1;
  // That find may have been paused only because of what was written before it. It comes first in its next turn, which
  // begins below high water.
  connection.put_off->ops.assign(left.begin(), left.end());
}

void Worker::leave_for_slow_lane(Connection &connection) {
  auto job = std::make_unique<SlowJob>();
  send_released(connection);  // what is answered must not wait for what is not
  job->work = std::move(connection.put_off);
  if (job->op().progress == Progress::paused) counters_.add(Counter::slow_finds);
  job->home = this;
  poller_.remove(connection.channel->fd());
  connection.armed = 0;
  roster_.remove(connection);
  std::erase(ready_, &connection);
  connection.ready = false;
  job->connection.reset(&connection);
  context_.slow_lane.submit(std::move(job));
}

void Worker::send() {
  for (Connection *const connection : ready_) send_to(*connection);
}

void Worker::send_released(Connection &connection) {
  if (connection.dead || connection.output.sendable().empty()) return;
  const net::Transfer put = connection.channel->send(connection.output);
  counters_.add(Counter::sends);
  counters_.add(Counter::bytes_sent, put.bytes);
  if (put.result == net::Transfer::Result::failed) connection.dead = true;
  if (put.bytes != 0) roster_.touch(connection, now_ms_);
}

void Worker::send_to(Connection &connection) {
  send_released(connection);
  if (connection.output.broken()) connection.dead = true;
  const bool all_sent = connection.output.pending_bytes() == 0;
  if (connection.peer_ended && !connection.has_work()) connection.closing = true;
  if (connection.closing && all_sent && !connection.has_work()) connection.dead = true;
  if (connection.dead) return dead_.push_back(&connection);
  if (connection.has_work() && !connection.output.above_high_water()) carry(connection);
  roster_.note_beginning(connection, now_ms_);
  arm(connection);
}

/// Tells the poller what to watch for, if that has changed.
void Worker::arm(Connection &connection) {
  uint32_t wanted = 0;
  if (!connection.peer_ended && !connection.closing && !connection.has_work() && !connection.is_queued())
    wanted |= net::Poller::readable;
  if (connection.output.pending_bytes() != 0) wanted |= net::Poller::writable;
  if (connection.output.above_high_water()) wanted &= ~net::Poller::readable;
  if (connection.tls) {
    const net::Wishes wishes = connection.channel->wishes();
    if (wishes.writable_to_receive && (wanted & net::Poller::readable)) wanted |= net::Poller::writable;
    if (wishes.readable_to_send) wanted |= net::Poller::readable;
  }
  if (wanted == net::Poller::readable && !connection.tls) wanted = told_once;
  if (wanted == connection.armed) {
    if (wanted == told_once && connection.unread) carry(connection);
    return;
  }
  connection.armed = wanted;
  if (!poller_.change(connection.channel->fd(), wanted, &connection)) {
    connection.dead = true;
    dead_.push_back(&connection);
  }
}

void Worker::tend() {
  for (Connection *const connection : ready_) connection->ready = false;
  ready_.clear();
  close_silent();
  close_unfinished();
  if (greetings_.waiting() != 0) make_way_for_greetings();
  for (Connection *const connection : dead_) close(*connection);
  dead_.clear();
}

void Worker::close_silent() {
  roster_.visit_silent(now_ms_, [this](Connection &connection) {
    if (!connection.dead) time_out(connection);
  });
}

/// Whoever begins something has to finish it.
void Worker::close_unfinished() {
  roster_.visit_unfinished(now_ms_, [this](Connection &connection) {
    if (connection.dead) return;
    counters_.add(Counter::connections_timed_out);
    refuse(connection, Failure::request_timed_out);
    send_to(connection);
  });
}

/// Clients that do not go on with their handshakes must not keep others from theirs.
void Worker::make_way_for_greetings() {
  roster_.visit_begun_until(now_ms_ - limits::handshake_patience_ms, [this](Connection &connection) {
    if (connection.greeting && !connection.carried && !connection.dead) time_out(connection);
  });
}

void Worker::time_out(Connection &connection) {
  connection.dead = true;
  dead_.push_back(&connection);
  counters_.add(Counter::connections_timed_out);
}

void Worker::take_inbox() {
  Arrivals arrivals = inbox_.take();
  while (std::unique_ptr<Connection> connection = arrivals.next()) adopt(std::move(connection));
}

void Worker::adopt(std::unique_ptr<Connection> owned) {
  Connection &connection = *owned;
  connection.output.set_valve(nullptr);
  guard(connection, [&] {
    make_room_for_all();
    // All done in the slow lane, or new: then this settles nothing.
    if (connection.put_off == nullptr) connection.session->settled();
  });
  if (ready_.capacity() <= ready_.size()) {
    counters_.add(Counter::connections_closed);
    connection_count_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  if (connection.put_off == nullptr) connection.input.settle();
  connection.more = connection.input.unparsed_bytes() != 0 && !connection.closing;
  connection.receive_bytes = 0;
  connection.armed = connection.tls ? uint32_t{net::Poller::readable} : told_once;
  connection.unread = false;
  if (!poller_.add(connection.channel->fd(), connection.armed, &connection)) connection.dead = true;
  roster_.add(*owned.release(), now_ms_);
  make_ready(connection);
}

/// Each connection is in each of these once at most, so that from here on none of them grows.
void Worker::make_room_for_all() {
  const size_t count = connection_count_.load(std::memory_order_relaxed);
  for (std::vector<Connection *> *const list : {&ready_, &carried_, &resumed_, &dead_})
    if (list->capacity() < count) list->reserve(std::max<size_t>(2 * count, 64));
}

void Worker::make_ready(Connection &connection) {
  if (connection.ready) return;
  connection.ready = true;
  ready_.push_back(&connection);
}

void Worker::carry(Connection &connection) {
  if (connection.carried) return;
  connection.carried = true;
  carried_.push_back(&connection);
}

void Worker::close(Connection &connection) {
  if (connection.carried) std::erase(carried_, &connection);
  greetings_.forget(connection);
  roster_.remove(connection);
  delete &connection;
  counters_.add(Counter::connections_closed);
  connection_count_.fetch_sub(1, std::memory_order_relaxed);
}

void Worker::close_everybody() {
  carried_.clear();
  while (Connection *const connection = roster_.any()) {
    connection->carried = false;
    close(*connection);
  }
}

void Worker::close_all() {
  close_everybody();
  Arrivals refused = inbox_.close();
  while (refused.next() != nullptr) connection_count_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace postern::door
