#include "door/worker.h"

#include <sys/prctl.h>

#include <algorithm>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"
#include "net/plain_channel.h"
#include "net/tls_channel.h"

namespace postern::door {
namespace {

/// What a TLS connection begins with, the type of a handshake record. No protocol of ours has a request like that.
constexpr char tls_first_byte = 0x16;
/// The poller tells of bytes, and of their end, when they come, and not once more in each turn until they are received.
constexpr uint32_t told_once = net::Poller::readable | net::Poller::ended | net::Poller::once_each;

}  // namespace

Worker::Worker(const Context &context, std::string name)
    : context_(context), name_(std::move(name)), events_(limits::events_per_turn_max) {}

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

void Worker::give(net::Fd socket, const Peer &peer) {
  connection_count_.fetch_add(1, std::memory_order_relaxed);
  Peer known = peer;
  known.fd = socket.get();
  auto connection =
      std::make_unique<Connection>(std::make_unique<net::PlainChannel>(std::move(socket)), context_.protocol, known);
  connection->fresh = context_.settings.tls != nullptr;
  take_back(std::move(connection));
}

void Worker::take_back(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard guard(inbox_mutex_);
    if (!inbox_closed_) {
      inbox_.push_back(std::move(connection));
    } else {
      connection_count_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  wake_.wake();
}

void Worker::work() {
  const ThreadIdentity who{
      .access = context_.access, .name = name_.c_str(), .wake_fd = wake_.fd(), .counters = &counters_};
  // Else the kernel may add 50 us to each of gather()'s waits.
  if (context_.access == Access::write) ::prctl(PR_SET_TIMERSLACK, 1'000);
  executor_ = context_.engine.attach(who, stop_);
  if (executor_ != nullptr) {
    go_idle();
    while (!stop_.load(std::memory_order_acquire) && executor_->standing() == Standing::good) run_turn();
    executor_->idle();
  }
  close_all();
  executor_.reset();
  pool::drain();
  if (!stop_.load(std::memory_order_acquire)) context_.server_stopping(context_.door);
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
  const bool at_work = carried_.size() > greetings_waiting_;
  if (!at_work) {
    if (holds_tables_) {
      timeout_ms = limits::linger_ms;
    } else {
      int64_t left_ms = INT64_MAX;
      if (idle_.oldest != nullptr && context_.settings.idle_timeout_ms > 0)
        left_ms = idle_.oldest->active_ms + context_.settings.idle_timeout_ms - now_ms_;
      if (begun_.oldest != nullptr && begun_timeout_ms() > 0)
        left_ms = std::min(left_ms, begun_.oldest->active_ms + begun_timeout_ms() - now_ms_);
      if (greetings_waiting_ != 0) left_ms = std::min<int64_t>(left_ms, limits::handshake_look_ms);
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
  const uint32_t connections = connection_count_.load(std::memory_order_relaxed);
  if (connections == described_connections_) return;
  described_connections_ = connections;
  const std::string text = name_ + ": idle, " + std::to_string(connections) + " connections";
  executor_->describe(text);
}

void Worker::receive(size_t event_count) {
  greetings_left_ = limits::handshakes_per_turn_max;
  greetings_waiting_ = 0;
  resumed_.swap(carried_);
  for (Connection *const connection : resumed_) {
    connection->carried = false;
    if (connection->greeting || connection->unread) receive_from(*connection);
    if (connection->is_queued()) begin_greeting(*connection);
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
      receive_from(connection);
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
  if (connection.greeting) {
    if (greetings_left_ == 0) return carry(connection);
    --greetings_left_;
  }
  const uint32_t room = std::max<uint32_t>(connection.receive_bytes, limits::block_bytes_min / 4);
  const net::Transfer got = connection.channel->receive(connection.input, room);
  counters_.add(Counter::receives);
  connection.unread = got.result == net::Transfer::Result::some && got.bytes >= room;
  switch (got.result) {
    case net::Transfer::Result::some:
      counters_.add(Counter::bytes_received, got.bytes);
      connection.more = true;
      // A client that fills its room may have more for us; one that does not needs no more room.
      connection.receive_bytes =
          got.bytes >= room
              ? static_cast<uint32_t>(std::min<size_t>(size_t{room} * 2, limits::block_bytes_recycled_max))
              : 0;
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
  if (connection.greeting) note_greeting(connection);
  if (connection.fresh && connection.more) begin_greeting(connection);
}

/// Several clients that write share one flush of the log, which takes much longer than their requests do. They have
/// just been answered together and are about to ask again; whoever comes too late has to wait for a flush in between.
void Worker::gather() {
  if (gathering_us_ == 0 || ready_.empty()) return;
  const int64_t until_us = clock_us() + gathering_us_;
  while (ready_.size() < connection_count_.load(std::memory_order_relaxed)) {
    const int64_t left_us = until_us - clock_us();
    if (left_us <= 0) return;
    const size_t count = poller_.wait_briefly(events_, std::min<int64_t>(left_us, limits::gather_gap_us));
    const size_t ready = ready_.size();
    if (count != 0) receive(count);
    if (ready_.size() == ready) return;
  }
}

/// The first byte is here: is it TLS, and if not, may it be anything else?
void Worker::begin_greeting(Connection &connection) {
  Input &input = connection.input;
  const bool is_tls = input.unparsed().front() == tls_first_byte;
  if (is_tls && greetings_ >= limits::handshakes_max) {
    ++greetings_waiting_;
    connection.more = false;
    return carry(connection);
  }
  connection.fresh = false;
  if (!is_tls) {
    if (context_.settings.require_tls && !connection.local) refuse(connection, Failure::tls_required);
    return;
  }
  const Bytes early(input.unparsed().data(), input.unparsed_bytes());
  auto &plain = static_cast<net::PlainChannel &>(*connection.channel);
  connection.channel = std::make_unique<net::TlsChannel>(plain.release(), context_.settings.tls->begin(), early);
  input.consume(input.unparsed_bytes());
  input.settle();
  connection.more = false;
  connection.tls = connection.greeting = true;
  ++greetings_;
  connection.session =
      context_.protocol.greet(connection.output, {.local = connection.local, .fd = connection.channel->fd()});
  receive_from(connection);
}

/// What a receive brought a handshake.
void Worker::note_greeting(Connection &connection) {
  const auto &channel = static_cast<const net::TlsChannel &>(*connection.channel);
  if (connection.dead || channel.greeting()) return;
  connection.greeting = false;
  --greetings_;
  counters_.add(Counter::tls_connections);
  if (channel.resumed()) counters_.add(Counter::tls_resumptions);
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
  batch_.clear();
  slices_.clear();
  for (uint32_t i = 0; i < ready_.size(); ++i) {
    Connection &connection = *ready_[i];
    if (connection.dead || !connection.has_work()) continue;
    // Back-pressure: nothing is done for a client that does not take its answers.
    if (connection.output.above_high_water()) continue;
    const size_t first = batch_.size();
    if (first >= limits::ops_per_batch_max) continue;
    batch_.begin(i);
    const Output::Mark mark = connection.output.mark();
    collect_from(connection, limits::ops_per_batch_max - first);
    if (batch_.size() != first) slices_.push_back({&connection, first, batch_.size() - first, mark});
  }
}

void Worker::collect_from(Connection &connection, size_t room) {
  if (connection.put_off != nullptr) {
    if (connection.put_off->ops.size() > room) return;
    for (const Op &op : connection.put_off->ops) batch_.add(op);
    return;
  }
  const auto ops_max = static_cast<uint32_t>(std::min<size_t>(limits::ops_per_connection_max, room));
  const Collected collected = connection.session->collect(connection.input, batch_, ops_max);
  connection.more = collected == Collected::more;
  if (collected == Collected::close) connection.closing = true;
}

void Worker::execute() {
  if (batch_.size() == 0) {
    // Something wakes us again and again that never becomes a request: that is no reason to hold tables.
    if (holds_tables_ && now_ms_ - executed_ms_ > limits::linger_ms) go_idle();
    return;
  }
  executed_ms_ = now_ms_;
  holds_tables_ = true;
  gathering_us_ = 0;
  std::shared_ptr<Arena> batch_arena;  // once somebody takes it along; all ops of the turn live there
  const std::span<Slice> all = slices_;
  const size_t readers = context_.access == Access::write ? put_readers_first() : 0;
  if (readers != 0 && readers != all.size()) {
    run(all.first(readers));
    settle(all.first(readers), batch_arena);
    for (Connection *const connection : ready_) send_released(*connection);
  }
  const std::span<Slice> rest = readers == all.size() ? all : all.subspan(readers);
  const bool shares = readers != all.size() && all.size() > 1 && context_.access == Access::write;
  const int64_t began_us = shares ? clock_us() : 0;
  run(rest);
  if (shares) gathering_us_ = std::min(clock_us() - began_us, limits::gather_us_max);
  settle(rest, batch_arena);
}

/// Who only reads need not wait until what others write is on the disk. Says how many connections those are; the ops
/// of the batch and the slices are in that order then.
size_t Worker::put_readers_first() {
  const auto writers =
      std::partition(slices_.begin(), slices_.end(), [this](const Slice &s) { return !writes_anything(s); });
  const auto readers = static_cast<size_t>(writers - slices_.begin());
  if (readers == 0 || readers == slices_.size()) return readers;
  reordered_.clear();
  for (Slice &slice : slices_) {
    const size_t first = reordered_.size();
    for (const Op &op : batch_.ops().subspan(slice.first, slice.count)) reordered_.push_back(op);
    slice.first = first;
  }
  batch_.exchange_ops(reordered_);
  return readers;
}

bool Worker::writes_anything(const Slice &slice) {
  const std::span<const Op> ops = batch_.ops().subspan(slice.first, slice.count);
  return std::any_of(ops.begin(), ops.end(), [](const Op &op) { return writes(op.verb); });
}

/// Connections that stand one behind the other in the batch: their ops are one run, and one transaction.
void Worker::run(std::span<Slice> slices) {
  const size_t first = slices.front().first;
  const size_t count = slices.back().first + slices.back().count - first;
  running_ = slices.data();
  sends_early_ = slices.size() <= limits::connections_sent_early_max || count <= limits::ops_sent_early_max;
  if (!executor_->run(batch_.ops().subspan(first, count), this).lasted()) run_again(slices);
}

/// Few clients would all wait for the last answer of a turn, and the worker then for all of them: with four, that
/// takes a third of the speed. Of many, some ask while others are answered anyway, and a run that is not interrupted
/// finds what it needs in the processor's cache, unless long replies have displaced that already.
void Worker::answered(const Op &op) {
  const auto at = static_cast<size_t>(&op - batch_.ops().data());
  while (at >= running_->first + running_->count) ++running_;
  Slice &slice = *running_;
  const size_t bytes = slice.connection->output.pending_bytes();
  if (at != slice.first + slice.count - 1) {
    if (bytes >= limits::reply_bytes_sent_ahead_min) send_ahead(slice, at + 1 - slice.first);
    return;
  }
  if (!sends_early_ && bytes < limits::reply_bytes_sent_early_min) return;
  settle_answered(*slice.connection);
  slice.answered = true;
  send_released(*slice.connection);
}

/// What is answered of a slice leaves, and is none of its business any more.
void Worker::send_ahead(Slice &slice, size_t answered) {
  Connection &connection = *slice.connection;
  Output &output = connection.output;
  // A client that did not take all of what was sent before takes no more now.
  if (slice.bytes_sent_ahead >= limits::reply_bytes_sent_ahead_max || !output.sendable().empty()) return;
  slice.bytes_sent_ahead += output.pending_bytes();
  slice.first += answered;
  slice.count -= answered;
  slice.mark = output.mark();
  if (connection.put_off != nullptr) connection.put_off->busy_since_ms = -1;
  output.release();
  send_released(connection);
}

/// The transaction of the whole batch is lost, and nobody has been told of anything it did. Every connection gets one
/// of its own; where that is lost, too, its ops leave for the slow lane, where each is one by itself.
void Worker::run_again(std::span<const Slice> slices) {
  for (const Slice &slice : slices)
    if (!slice.answered) take_back_replies(slice);
  for (const Slice &slice : slices) {
    if (slice.answered) continue;
    const std::span<Op> ops = batch_.ops().subspan(slice.first, slice.count);
    if (executor_->run(ops).lasted()) continue;
    take_back_replies(slice);
    for (Op &op : ops) op.progress = Progress::waiting;
  }
}

void Worker::take_back_replies(const Slice &slice) {
  slice.connection->output.rewind(slice.mark);
  for (const Op &op : batch_.ops().subspan(slice.first, slice.count)) op.reply->restart();
}

void Worker::settle(std::span<const Slice> slices, std::shared_ptr<Arena> &batch_arena) {
  const std::span<Op> ops = batch_.ops();
  for (const Slice &slice : slices) {
    if (slice.answered) continue;
    Connection &connection = *slice.connection;
    size_t unfinished = slice.first;
    const size_t end = slice.first + slice.count;
    while (unfinished != end && ops[unfinished].progress == Progress::done) ++unfinished;
    if (unfinished == end) {
      settle_answered(connection);
    } else {
      touch(connection);
      leave_unanswered(slice, unfinished, batch_arena);
    }
  }
}

void Worker::settle_answered(Connection &connection) {
  touch(connection);
  connection.put_off.reset();
  connection.output.release();
  connection.session->settled();
  connection.input.settle();
}

/// What a turn left of a connection's requests is for a later turn, or for the slow lane.
void Worker::leave_unanswered(const Slice &slice, size_t first_unfinished, std::shared_ptr<Arena> &batch_arena) {
  Connection &connection = *slice.connection;
  const std::span<Op> left = batch_.ops().subspan(first_unfinished, slice.first + slice.count - first_unfinished);
  left.front().reply->restart();
  connection.output.release();
  if (connection.put_off == nullptr) {
    if (batch_arena == nullptr) batch_arena = std::make_shared<Arena>(batch_.take_arena());
    connection.put_off = std::make_unique<PutOff>();
    connection.put_off->arena = batch_arena;
  }
  // One that has to run alone was not let in, either: it waits since it first did.
  const bool waits_on = first_unfinished == slice.first &&
                        (left.front().progress == Progress::busy || left.front().progress == Progress::alone);
  if (!waits_on) connection.put_off->busy_since_ms = -1;
  // That find may have been paused only because of what was written before it. It comes first in its next turn, which
  // begins below high water.
  connection.put_off->ops.assign(left.begin(), left.end());
  if (left.front().progress == Progress::paused && connection.output.above_high_water()) return;
  if (left.front().progress == Progress::crowded) return;
  leave_for_slow_lane(connection);
}

void Worker::leave_for_slow_lane(Connection &connection) {
  send_released(connection);  // what is answered must not wait for what is not
  auto job = std::make_unique<SlowJob>();
  job->ops = std::move(connection.put_off->ops);
  job->arena = std::move(connection.put_off->arena);
  job->busy_since_ms = connection.put_off->busy_since_ms;
  connection.put_off.reset();
  if (job->ops.front().progress == Progress::paused) counters_.add(Counter::slow_finds);
  job->home = this;
  poller_.remove(connection.channel->fd());
  connection.armed = 0;
  unlink(connection);
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
  if (put.bytes != 0) touch(connection);
}

void Worker::send_to(Connection &connection) {
  send_released(connection);
  if (connection.output.broken()) connection.dead = true;
  const bool all_sent = connection.output.pending_bytes() == 0;
  if (connection.peer_ended && !connection.has_work()) connection.closing = true;
  if (connection.closing && all_sent && !connection.has_work()) connection.dead = true;
  if (connection.dead) return dead_.push_back(&connection);
  if (connection.has_work() && !connection.output.above_high_water()) carry(connection);
  note_beginning(connection);
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
  if (greetings_waiting_ != 0) make_way_for_greetings();
  for (Connection *const connection : dead_) close(*connection);
  dead_.clear();
}

void Worker::close_silent() {
  const int64_t timeout_ms = context_.settings.idle_timeout_ms;
  if (timeout_ms <= 0) return;
  for (Connection *connection = idle_.oldest; connection != nullptr && connection->active_ms + timeout_ms <= now_ms_;
       connection = connection->newer) {
    if (connection->dead) continue;
    connection->dead = true;
    dead_.push_back(connection);
    counters_.add(Counter::connections_timed_out);
  }
}

/// Whoever begins something has to finish it.
void Worker::close_unfinished() {
  const int64_t timeout_ms = begun_timeout_ms();
  if (timeout_ms <= 0) return;
  for (Connection *connection = begun_.oldest;
       connection != nullptr && connection->active_ms + timeout_ms <= now_ms_;) {
    Connection &slow = *connection;
    connection = connection->newer;
    if (slow.dead) continue;
    counters_.add(Counter::connections_timed_out);
    refuse(slow, Failure::request_timed_out);
    send_to(slow);
  }
}

/// Clients that do not go on with their handshakes must not keep others from theirs.
void Worker::make_way_for_greetings() {
  for (Connection *connection = begun_.oldest;
       connection != nullptr && connection->active_ms + limits::handshake_patience_ms <= now_ms_;
       connection = connection->newer) {
    if (!connection->greeting || connection->carried || connection->dead) continue;
    connection->dead = true;
    dead_.push_back(connection);
    counters_.add(Counter::connections_timed_out);
  }
}

int64_t Worker::begun_timeout_ms() const {
  const Settings &settings = context_.settings;
  if (settings.request_timeout_ms <= 0 || settings.idle_timeout_ms <= 0)
    return std::max(settings.request_timeout_ms, settings.idle_timeout_ms);
  return std::min(settings.request_timeout_ms, settings.idle_timeout_ms);
}

void Worker::take_inbox() {
  std::vector<std::unique_ptr<Connection>> arrived;
  {
    const std::lock_guard guard(inbox_mutex_);
    arrived.swap(inbox_);
  }
  for (auto &connection : arrived) adopt(std::move(connection));
}

void Worker::adopt(std::unique_ptr<Connection> owned) {
  Connection &connection = *owned;
  connection.output.set_valve(nullptr);
  if (connection.put_off == nullptr) {
    // All done in the slow lane, or new: then this settles nothing.
    connection.session->settled();
    connection.input.settle();
  }
  connection.more = connection.input.unparsed_bytes() != 0 && !connection.closing;
  connection.receive_bytes = 0;
  connection.armed = connection.tls ? uint32_t{net::Poller::readable} : told_once;
  connection.unread = false;
  if (!poller_.add(connection.channel->fd(), connection.armed, &connection)) connection.dead = true;
  link_newest(*owned.release());
  connection.active_ms = now_ms_;
  make_ready(connection);
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

void Worker::touch(Connection &connection) {
  connection.active_ms = now_ms_;
  if (idle_.newest == &connection) return;
  unlink(connection);
  connection.begun = false;
  link_newest(connection);
}

/// Keeps apart who is in the middle of a request or a handshake, and keeps when that began. While there are answers
/// to take it is the idle timeout's business: the client may be busy with them.
void Worker::note_beginning(Connection &connection) {
  const bool begun = connection.greeting || (connection.input.unparsed_bytes() != 0 && !connection.has_work() &&
                                             connection.output.pending_bytes() == 0);
  if (begun == connection.begun) return;
  unlink(connection);
  connection.begun = begun;
  connection.active_ms = now_ms_;
  link_newest(connection);
}

void Worker::link_newest(Connection &connection) {
  List &list = list_of(connection);
  connection.older = list.newest;
  connection.newer = nullptr;
  (list.newest != nullptr ? list.newest->newer : list.oldest) = &connection;
  list.newest = &connection;
}

void Worker::unlink(Connection &connection) {
  List &list = list_of(connection);
  (connection.older != nullptr ? connection.older->newer : list.oldest) = connection.newer;
  (connection.newer != nullptr ? connection.newer->older : list.newest) = connection.older;
  connection.older = connection.newer = nullptr;
}

void Worker::close(Connection &connection) {
  if (connection.carried) {
    std::erase(carried_, &connection);
    if (connection.is_queued()) --greetings_waiting_;
  }
  if (connection.greeting) {
    --greetings_;
    counters_.add(Counter::tls_handshakes_failed);
  }
  unlink(connection);
  delete &connection;
  counters_.add(Counter::connections_closed);
  connection_count_.fetch_sub(1, std::memory_order_relaxed);
}

void Worker::close_all() {
  carried_.clear();
  for (List *const list : {&idle_, &begun_}) {
    while (list->oldest != nullptr) {
      list->oldest->carried = false;
      close(*list->oldest);
    }
  }
  std::vector<std::unique_ptr<Connection>> refused;
  const std::lock_guard guard(inbox_mutex_);
  inbox_closed_ = true;
  refused.swap(inbox_);
  connection_count_.fetch_sub(static_cast<uint32_t>(refused.size()), std::memory_order_relaxed);
}

}  // namespace postern::door
