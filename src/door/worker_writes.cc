// worker_writes.cc: where a worker's writes are done: here, or in the write lane.
#include <utility>

#include "door/worker.h"

namespace postern::door {

/// Waits briefly for clients that were just answered and will write again.
void Worker::await_writers() {
  CommitDelay &delay = write_runs_.delay();
  if (lists_.this_turn().empty() || !delay.may_wait()) return;
  size_t looked_at = 0;
  size_t back = 0;
  const auto look = [&] {
    const std::vector<Connection *> &ready = lists_.this_turn();
    for (; looked_at < ready.size(); ++looked_at) back += write_runs_.was_in_last(*ready[looked_at]) ? 1 : 0;
  };
  look();
  if (!delay.begin(back, write_runs_.others_read(now_ms_))) return;
  while (back < delay.writers()) {
    permit_.give_back();
    const size_t count = delay.wait(poller_, events_);
    permit_.take();
    if (count == 0) break;
    const size_t ready = lists_.this_turn().size();
    receive(count);
    if (lists_.this_turn().size() == ready) break;
    look();
  }
  delay.end(back);
}

/// The write lane does the rest of the turn, and a new turn takes its place here. False: there is no memory for it.
bool Worker::give_away(size_t readers) {
  std::unique_ptr<WriteJob> job = turns_away_.send(turn_, *this, readers);
  if (job == nullptr) return false;
  for (const Turn::Slice &slice : job->writers()) {
    slice.connection->ops_are_lent = true;
    slice.connection->listed.note_doing(Doing::running);
    timeouts_.remove(*slice.connection);
  }
  write_runs_.note_other_run();
  if (context_.write_lane->submit(job)) return true;
  job->refused = true;
  take_home(std::move(job));
  return true;
}

/// Without memory there is nobody but this thread, which others need.
void Worker::keep_writers(std::span<Turn::Slice> writers) {
  if (!write_runs_.may_stall()) return run_writers(writers);
  for (const Turn::Slice &slice : writers) refuse_rest(*slice.connection, turn_->ops_of(slice));
}

void Worker::run_writers(std::span<Turn::Slice> writers) {
  write_runs_.make(writers, now_ms_, [&] { run_timed(writers); });
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
  if (!poller_.change(connection.channel.fd(), connection.armed, &connection)) connection.die();
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
  turns_away_.come_home(*job);
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
  turns_away_.put_by(std::move(job));
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
