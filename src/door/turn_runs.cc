#include "door/turn_runs.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/limits.h"

namespace postern::door {

TurnRuns::TurnRuns(const Context &context)
    : context_(context),
      write_runs_(context.engine, context.write_lane),
      slow_log_(context.options, context.counters) {}

void TurnRuns::run(Executor &executor, int64_t now_ms) {
  executor_ = &executor;
  now_ms_ = now_ms;
  if (turn_->is_one_command()) return run_command();
  const std::span<Turn::Slice> all = turn_->slices();
  const size_t readers = context_.writes ? turn_->put_readers_first() : all.size();
  const std::span<Turn::Slice> writers = all.subspan(readers);
  if (writers.empty()) write_runs_.note_other_run();
  const size_t settled = readers != 0 ? run_readers(all.first(readers)) : 0;
  const std::span<Turn::Slice> unflushed = all.subspan(settled, readers - settled);
  if (writers.empty() && unflushed.empty()) return;
  if (settled != 0 && !writers.empty())
    for (Connection *const connection : context_.connections.in_turn()) context_.connections.send(*connection);
  if (unflushed.empty() && !write_runs_.suit_lane(*turn_, readers, turns_away_.any(), now_ms))
    return run_writers(writers);
  if (give_away(settled, unflushed.size())) return;
  // No other thread flushes for them, and they must not be answered before a flush.
  for (const Turn::Slice &slice : unflushed) slice.connection->die();
  if (!writers.empty()) keep_writers(writers);
}

/// What is left of run() for a turn of one command, which writes nothing that could go to the write lane. Its answer is
/// sent when the turn ends, that is, at once.
void TurnRuns::run_command() {
  write_runs_.note_other_run();
  const std::span<Turn::Slice> all = turn_->slices();
  const std::span<Op> ops = turn_->ops_of(all.front());
  if (times_.is_on()) times_.expect(ops);
  executor_->run_command(ops.front(), answers_may_wait());
  if (times_.is_on()) times_.note(ops);
  if (context_.writes) write_runs_.note_readers(*turn_, all, now_ms_);
  all.front().unflushed = ops.front().unflushed;
  if (!ops.front().unflushed) return settle(all);
  if (!give_away(0, 1)) all.front().connection->die();  // no other thread flushes for it
}

/// Runs the slices and notes times for the statements' forms.
void TurnRuns::run_timed(std::span<Turn::Slice> slices, bool answers_may_wait) {
  if (times_.is_on()) times_.expect(turn_->ops_of_all(slices));
  turn_->run(*executor_, slices, this, context_.counters, answers_may_wait);
  if (times_.is_on()) times_.note(turn_->ops_of_all(slices));
}

/// Returns the number of settled slices. The others, after them, wait for a flush.
inline size_t TurnRuns::run_readers(std::span<Turn::Slice> readers) {
  const bool may_wait = answers_may_wait();
  run_timed(readers, may_wait);
  if (context_.writes) write_runs_.note_readers(*turn_, readers, now_ms_);
  const size_t settled = may_wait ? turn_->put_unflushed_last(readers) : readers.size();
  settle(readers.first(settled));
  return settled;
}

/// Gives the rest of the turn to the write lane, and replaces it by a new one. False: out of memory.
bool TurnRuns::give_away(size_t readers, size_t unflushed) {
  std::unique_ptr<WriteJob> job = turns_away_.send(turn_, context_.home, readers, unflushed);
  if (job == nullptr) return false;
  for (const Turn::Slice &slice : job->clients()) {
    context_.connections.lend(*slice.connection);
    slice.connection->listed.note_doing(Doing::running);
  }
  write_runs_.note_other_run();
  if (context_.write_lane->submit(job)) return true;
  job->refused = true;
  take_home(std::move(job));
  return true;
}

/// Without memory only this thread could flush, which other clients need.
void TurnRuns::keep_writers(std::span<Turn::Slice> writers) {
  if (!write_runs_.may_stall()) return run_writers(writers);
  for (const Turn::Slice &slice : writers) refuse_rest(*slice.connection, turn_->ops_of(slice));
}

void TurnRuns::run_writers(std::span<Turn::Slice> writers) {
  write_runs_.make(writers, now_ms_, [&] { run_timed(writers); });
  settle(writers);
}

void TurnRuns::op_done(const Op &op) {
  Turn::Slice &slice = turn_->slice_running(op);
  slice.unflushed = slice.unflushed || op.unflushed;
  if (slice.unflushed) return;
  const size_t bytes = slice.connection->output.pending_bytes();
  if (&op != turn_->last_of(slice)) {
    if (bytes >= limits::reply_bytes_sent_ahead_min) send_ahead(slice, op);
    return;
  }
  if (!turn_->sends_early() && bytes < slice.count * limits::reply_bytes_sent_early_min) return;
  if (slow_log_.on()) slow_log_.note(*slice.connection, turn_->ops_of(slice), turn_->began_us);
  context_.connections.settle(*slice.connection);
  slice.sent = true;
  context_.connections.send(*slice.connection);
}

/// Sends a slice's replies up to that of `op` before the rest is done.
void TurnRuns::send_ahead(Turn::Slice &slice, const Op &op) {
  Connection &connection = *slice.connection;
  Output &output = connection.output;
  // A client that did not read all earlier bytes reads no more now.
  if (slice.bytes_sent_ahead >= limits::reply_bytes_sent_ahead_max || !output.sendable().empty()) return;
  slice.bytes_sent_ahead += output.pending_bytes();
  turn_->forget_until(slice, op);
  if (connection.has_put_off()) connection.put_off().busy_since_ms = -1;
  output.release();
  context_.connections.send(connection);
}

void TurnRuns::settle(std::span<const Turn::Slice> slices) {
  for (const Turn::Slice &slice : slices) {
    if (slice.sent) continue;
    const std::span<Op> left = turn_->unfinished(slice);
    if (left.empty()) {
      if (slow_log_.on()) slow_log_.note(*slice.connection, turn_->ops_of(slice), turn_->began_us);
      context_.connections.settle(*slice.connection);
    } else {
      context_.connections.note_progress(*slice.connection);
      context_.guard.on_behalf_of(*slice.connection, [&] { leave_unanswered(slice, left); });
    }
  }
}

/// Leaves a connection's remaining requests to a later turn or the slow lane.
void TurnRuns::leave_unanswered(const Turn::Slice &slice, std::span<Op> left) {
  Connection &connection = *slice.connection;
  left.front().reply->restart();
  connection.output.release();
  try {
    turn_->put_off(slice, left, spare_put_off_);
    if (left.front().progress == Progress::paused && connection.output.above_high_water()) return;
    if (left.front().progress == Progress::deferred) return;
    context_.way_out.leave_turn(connection);
  } catch (const std::bad_alloc &) {
    refuse_rest(connection, left);
  }
}

/// Called when memory for the remaining ops runs out. Only the server answers a statement: without an answer the next
/// one would be taken for it, so the connection ends.
void TurnRuns::refuse_rest(Connection &connection, std::span<Op> left) {
  if (std::ranges::any_of(left, [](const Op &op) { return op.verb == Verb::statement; })) {
    context_.counters.add(Failure::out_of_memory);
    return connection.die();
  }
  for (Op &op : left) {
    count_failure(context_.counters, op, Failure::out_of_memory);
    op.reply->done({.failure = Failure::out_of_memory});
  }
  context_.connections.settle(connection);
}

void TurnRuns::take_home(std::unique_ptr<WriteJob> job) {
  turns_away_.come_home(*job);
  for (const Turn::Slice &slice : job->clients()) {
    context_.connections.take_into_turn(*slice.connection);
    if (job->refused) slice.connection->die();
  }
  turn_.swap(job);
  for (const Turn::Slice &slice : turn_->clients()) {
    Connection &connection = *slice.connection;
    if (!connection.is_dead()) context_.guard.on_behalf_of(connection, [&] { settle_at_home(slice); });
  }
  turn_.swap(job);
  turns_away_.put_by(std::move(job));
}

void TurnRuns::settle_at_home(const Turn::Slice &slice) {
  Connection &connection = *slice.connection;
  const bool answered = turn_->unfinished(slice).empty();
  settle({&slice, 1});
  if (!answered) return;  // it may have left for the slow lane
  context_.connections.send(connection);
  if (connection.unread()) context_.connections.receive(connection);
}

}  // namespace postern::door
