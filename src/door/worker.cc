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
      guard_(name_, counters_),
      connections_({.options = context.options,
                    .protocol = context.protocol,
                    .statements = context.statements,
                    .poller = poller_,
                    .doorbell = wake_,
                    .counters = counters_,
                    .guard = guard_}),
      has_writers_(context.access == Access::write || context.options.statements_write),
      runs_({.options = context.options,
             .engine = context.engine,
             .write_lane = context.write_lane,
             .writes = has_writers_,
             .connections = connections_,
             .home = *this,
             .way_out = *this,
             .counters = counters_,
             .guard = guard_}),
      events_(limits::events_per_turn_max),
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
  if (!poller_ || !poller_.add(wake_.fd(), net::Poller::readable | net::Poller::once_each, nullptr)) return false;
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

/// nullptr: the loop is over.
std::unique_ptr<SlowJob> Worker::run_until_statement() {
  while (executor_ != nullptr && !stop_.load(std::memory_order_acquire) && !executor_->server_stopping()) {
    // Statements that were read are served one by one, with a turn for the other clients from time to time.
    if (statements_here_.empty() || clock_us() - clock_.began_us() > limits::statements_us_max) {
      if (!guard_.take_turn([this] { run_turn(); })) break_off();
    }
    if (std::unique_ptr<SlowJob> job = next_statement()) return job;
  }
  return nullptr;
}

/// nullptr: this thread may serve none.
std::unique_ptr<SlowJob> Worker::next_statement() {
  while (std::unique_ptr<SlowJob> job = statements_here_.next()) {
    if (job->connection->is_dead()) take_job_back(std::move(job));
    else if (crew_->has_stand_in()) return job;
    else leave_for_pool(std::move(job));
  }
  return nullptr;
}

/// A request's whole life on this thread. The order matters: every request of the batch has arrived before its read
/// view opens, and no reply leaves before the batch that justifies it is settled.
///
/// execute() runs, settles and sends, several times if that lets answers leave earlier; the later steps send the rest.
void Worker::run_turn() {
  const size_t events = wait();
  runs_.times().begin();
  receive(events);
  await_writers();
  collect();
  execute();
  connections_.finish();
  runs_.times().end();
  clock_.end(counters_);
  connections_.end_turn();
}

size_t Worker::wait() {
  int timeout_ms = 0;
  const bool at_work = connections_.are_at_work() || !statements_here_.empty();
  if (!at_work) {
    statements_here_.rest();
    shown_.show(*executor_, connections());
    if (tables_.are_held()) {
      timeout_ms = limits::linger_ms;
    } else {
      shown_.hide_if_idle(*executor_);
      int64_t left_ms = connections_.left_ms();
      if (tables_.look_ms() != 0) left_ms = std::min<int64_t>(left_ms, tables_.look_ms());
      timeout_ms = left_ms == INT64_MAX ? -1 : static_cast<int>(std::clamp<int64_t>(left_ms, 1, 3'600'000));
    }
  }
  sibling_.leave_turn();
  permit_.give_back();
  sibling_.end_turn(clock_.began_us(), at_work);
  const size_t count = poller_.wait(events_, timeout_ms);
  now_ms_ = clock_.begin();
  connections_.set_time(now_ms_);
  sibling_.begin_turn(clock_.began_us());
  if ((count == 0 && !at_work && tables_.are_held()) || tables_.is_look_due(now_ms_)) tables_.rest(*executor_, now_ms_);
  permit_.take();
  return count;
}

void Worker::receive(size_t event_count) {
  connections_.resume();
  bool woken = false;
  bool clients_come = false;
  for (const epoll_event &event : std::span(events_).first(event_count)) {
    if (event.data.ptr == nullptr) {
      woken = true;
    } else if (net::Listener *const socket = context_.reception.socket_of(event.data.ptr); socket != nullptr) {
      accept_clients(*socket);
      clients_come = true;
    } else {
      connections_.note_events(*static_cast<Connection *>(event.data.ptr), event.events);
    }
  }
  if (!clients_come) accepts_max_ = 1;
  if (!woken) return;
  Arrivals arrivals = inbox_.take();
  while (std::unique_ptr<Connection> connection = arrivals.next()) adopt(std::move(connection));
  WriteJobs writes = inbox_.take_writes();
  while (std::unique_ptr<WriteJob> job = writes.next()) runs_.take_home(std::move(job));
  connections_.take_woken();
}

/// Waits briefly for clients that were just answered and will probably write again.
void Worker::await_writers() {
  const WriteRuns &runs = runs_.write_runs();
  CommitDelay &delay = runs_.write_runs().delay();
  const TurnLists::List &ready = connections_.in_turn();
  if (ready.empty() || !delay.may_wait()) return;
  size_t looked_at = 0;
  size_t back = 0;
  const auto look = [&] {
    for (; looked_at < ready.size(); ++looked_at) back += runs.was_in_last(*ready[looked_at]) ? 1 : 0;
  };
  look();
  if (!delay.begin(back, runs.others_read(now_ms_))) return;
  while (back < delay.writers()) {
    permit_.give_back();
    const size_t count = delay.wait(poller_, events_);
    permit_.take();
    if (count == 0) break;
    const size_t before = ready.size();
    receive(count);
    if (ready.size() == before) break;
    look();
  }
  delay.end(back);
}

void Worker::collect() {
  Turn &turn = runs_.turn();
  runs_.begin(clock_.began_us());
  const TurnLists::List &connections = connections_.in_turn();
  for (uint32_t i = 0; i < connections.size(); ++i) {
    Connection &connection = *connections[i];
    if (connection.is_dead() || !connection.has_work()) continue;
    // Back-pressure: a client that does not read its answers is not served.
    if (connection.output.above_high_water()) continue;
    if (turn.room() == 0) continue;
    const Turn::Slice slice = turn.begin(connection, i);
    try {
      collect_from(connection, slice);
      turn.add(slice);
    } catch (const std::bad_alloc &) {
      turn.forget(slice);
      connection.forget_put_off();
      guard_.on_behalf_of(connection, [&] { connections_.refuse(connection, Failure::out_of_memory); });
    }
  }
}

void Worker::collect_from(Connection &connection, const Turn::Slice &slice) {
  Turn &turn = runs_.turn();
  if (connection.has_put_off()) return turn.add_put_off(connection.put_off());
  const auto ops_max = static_cast<uint32_t>(std::min<size_t>(limits::ops_per_connection_max, turn.room()));
  const size_t before = turn.batch().size();
  connection.note_collected(connection.session->collect(connection.input, turn.batch(), ops_max));
  if (const std::span<const Op> ops = turn.batch().ops(); ops.size() > before)
    connection.listed.note_requests(ops.size() - before, ops.back().verb);
  if (connection.is_asleep()) connections_.put_to_sleep(connection);
  if (!connection.lacks_tls() || !turn.asks_engine(slice)) return;
  turn.forget(slice);
  connections_.refuse(connection, Failure::tls_required);
}

void Worker::execute() {
  // A lone command uses none of the executor's tables.
  const bool uses_tables = !runs_.turn().empty() && !runs_.turn().is_one_command();
  if (!runs_.turn().empty()) runs_.run(*executor_, now_ms_);
  if (uses_tables) tables_.note_run(*executor_, now_ms_);
  else tables_.note_no_run(*executor_, now_ms_);
}

}  // namespace postern::door
