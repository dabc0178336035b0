// worker_writes.cc: where a worker's writes are done: here, or in the write lane.
#include <new>
#include <utility>

#include "door/worker.h"

namespace postern::door {

/// Waits briefly for clients that were just answered and will write again.
void Worker::await_writers() {
  if (lists_.this_turn().empty() || !commit_delay_.may_wait()) return;
  size_t looked_at = 0;
  size_t back = 0;
  const auto look = [&] {
    const std::vector<Connection *> &ready = lists_.this_turn();
    for (; looked_at < ready.size(); ++looked_at) back += ready[looked_at]->last_run == shared_runs_ ? 1 : 0;
  };
  look();
  if (!commit_delay_.begin(back, recent_readers_.any_but(nullptr, now_ms_))) return;
  while (back < commit_delay_.writers()) {
    permit_.give_back();
    const size_t count = commit_delay_.wait(poller_, events_);
    permit_.take();
    if (count == 0) break;
    const size_t ready = lists_.this_turn().size();
    receive(count);
    if (lists_.this_turn().size() == ready) break;
    look();
  }
  commit_delay_.end(back);
}

/// Whether readers would have to wait, or might for an unknown time.
bool Worker::gives_away(size_t readers) {
  if (context_.write_lane == nullptr) return false;
  if (turns_away_ != 0 || context_.engine.commits_may_wait()) return true;
  const std::span<Turn::Slice> all = turn_->slices();
  return context_.write_lane->pays() &&
         recent_readers_.any_but(all.size() - readers == 1 ? all.back().connection : nullptr, now_ms_);
}

/// The write lane does the rest of the turn, and a new turn takes its place here. False: there is no memory for it.
bool Worker::give_away(size_t readers) {
  std::unique_ptr<WriteJob> next = spare_turns_.next();
  if (next == nullptr) next.reset(new (std::nothrow) WriteJob());
  else --spare_turns_count_;
  if (next == nullptr || !turn_->charge.add(turn_->batch().arena().bytes())) return false;
  std::unique_ptr<WriteJob> job = std::exchange(turn_, std::move(next));
  job->home = this;
  job->readers = readers;
  job->away = true;
  for (const Turn::Slice &slice : job->writers()) {
    slice.connection->ops_are_lent = true;
    slice.connection->listed.note_doing(Doing::running);
    timeouts_.remove(*slice.connection);
  }
  ++turns_away_;
  commit_delay_.note_other_run();
  if (context_.write_lane->submit(job)) return true;
  job->refused = true;
  take_home(std::move(job));
  return true;
}

/// Without memory there is nobody but this thread, which others need.
void Worker::keep_writers(std::span<Turn::Slice> writers) {
  if (!context_.engine.commits_may_wait()) return run_writers(writers);
  for (const Turn::Slice &slice : writers) refuse_rest(*slice.connection, turn_->ops_of(slice));
}

void Worker::run_writers(std::span<Turn::Slice> writers) {
  const bool shared = writers.size() > 1;
  const int64_t began_us = shared ? off_processor_us() : 0;
  const bool looks = context_.write_lane != nullptr && ++runs_not_looked_at_ >= WriteLane::runs_per_look &&
                     recent_readers_.any_but(nullptr, now_ms_);
  Sleep sleep;
  if (looks) sleep.begin();
  if (times_.is_on()) times_.expect(turn_->ops_of_all(writers));
  turn_->run(*executor_, writers, this, counters_);
  if (times_.is_on()) times_.note(turn_->ops_of_all(writers));
  if (looks) {
    runs_not_looked_at_ = 0;
    context_.write_lane->note_run(sleep.end());
  }
  if (shared) {
    ++shared_runs_;
    for (const Turn::Slice &slice : writers) slice.connection->last_run = shared_runs_;
    commit_delay_.note_run(writers.size(), off_processor_us() - began_us);
  } else {
    commit_delay_.note_other_run();
  }
  settle(writers);
}

void Worker::return_writes(std::unique_ptr<WriteJob> job) noexcept {
  const auto count = static_cast<uint32_t>(job->writers().size());
  if (!inbox_.put(job)) connection_count_.fetch_sub(count, std::memory_order_relaxed);
  wake_.wake();
}

/// Notes that bytes, or the end of the stream, came from a client whose writes are under way.
void Worker::note_event_away(Connection &connection, uint32_t events) {
  if (events & net::Poller::ended) connection.note_end_told();
  else if (events & net::Poller::readable) connection.set_unread(true);
  else if (events & net::Poller::hung_up) connection.die();
  if (connection.armed == Connection::told_once) return;
  // The poller would report it again and again.
  connection.armed = net::Poller::readable | net::Poller::once;
  if (!poller_.change(connection.channel->fd(), connection.armed, &connection)) connection.die();
}

void Worker::take_writes_home() {
  WriteJobs jobs = inbox_.take_writes();
  while (std::unique_ptr<WriteJob> job = jobs.next()) take_home(std::move(job));
}

/// The worker leaves: connections that it has not taken home end with it.
void Worker::refuse_writes() {
  WriteJobs jobs = inbox_.take_writes();
  while (const std::unique_ptr<WriteJob> job = jobs.next())
    connection_count_.fetch_sub(static_cast<uint32_t>(job->writers().size()), std::memory_order_relaxed);
}

/// The write lane's results are settled as a turn's own, and its clients may ask on.
void Worker::take_home(std::unique_ptr<WriteJob> job) {
  job->away = false;
  --turns_away_;
  for (const Turn::Slice &slice : job->writers()) {
    Connection &connection = *slice.connection;
    connection.ops_are_lent = false;
    timeouts_.add(connection, now_ms_);
    lists_.add_to_this_turn(connection);
    if (job->refused) connection.die();
  }
  turn_.swap(job);
  for (const Turn::Slice &slice : turn_->writers()) {
    Connection &connection = *slice.connection;
    if (!connection.is_dead()) guard_.on_behalf_of(connection, [&] { settle_at_home(slice); });
  }
  turn_.swap(job);
  job->clear();
  job->refused = false;
  job->charge = pool::Charge();
  if (spare_turns_count_ == spare_turns_max) return;
  ++spare_turns_count_;
  spare_turns_.add(std::move(job));
}

void Worker::settle_at_home(const Turn::Slice &slice) {
  Connection &connection = *slice.connection;
  const bool answered = turn_->unfinished(slice).empty();
  settle({&slice, 1});
  if (!answered) return;  // it may have left for the slow lane
  send_released(connection);
  if (connection.unread()) receive_from(connection);
}

}  // namespace postern::door
