#include "door/lanes/lane_thread.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"

namespace postern::door {
namespace {

constexpr int64_t far_ms = 3'600'000;

bool is_held_up(Progress progress) {
  return progress == Progress::busy || progress == Progress::locked;
}

}  // namespace

bool SlowLane::LaneThread::start() {
  if (!poller_ || !poller_.add(wake_.fd(), net::Poller::readable, &wake_) ||
      (duty_ == Duty::scan && !poller_.add(lane_.parked_poller_.fd(), net::Poller::readable, &lane_)))
    return false;
  return thread_.start([](void *self) { static_cast<LaneThread *>(self)->work(); }, this, name_);
}

void SlowLane::LaneThread::work() {
  // Scans are less urgent than waiters for one row. Scripts that compute yield the processors to everything else.
  if (duty_ != Duty::login) setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), duty_ == Duty::script ? 10 : 5);
  const ThreadIdentity who{
      .access = lane_.access_, .name = name_.c_str(), .wake_fd = wake_.fd(), .counters = &counters_};
  attach(who);
  if (executor_ != nullptr) {
    executor_->hide();
    while (!lane_.stop_.load(std::memory_order_acquire) && !executor_->server_stopping()) turn();
    executor_->idle();
  }
  executor_.reset();
  lane_.thread_left();
  pool::drain();  // last: connections that die with the lane leave their blocks with this thread
}

/// Without memory it tries again: no other thread would take its place.
void SlowLane::LaneThread::attach(const ThreadIdentity &who) {
  constexpr int retry_ms = 100;
  for (bool told = false; !lane_.stop_.load(std::memory_order_acquire);) {
    try {
      executor_ = lane_.engine_.attach(who, lane_.stop_);
      return;
    } catch (const std::bad_alloc &) {
      if (!std::exchange(told, true)) log::error("%s: out of memory", name_.c_str());
    }
    pollfd woken{.fd = wake_.fd(), .events = POLLIN, .revents = 0};
    ::poll(&woken, 1, retry_ms);
    wake_.drain();
  }
}

void SlowLane::LaneThread::turn() {
  const int64_t now_ms = clock_ms();
  int64_t wait_until_ms = now_ms + far_ms;
  if (std::unique_ptr<SlowJob> job = lane_.take(duty_, now_ms, wait_until_ms)) {
    describe(true);
    executor_->allow_row_wait(job->row_wait_ms);
    const bool stays = job->stays;
    const bool writes = job->wrote;
    run(std::move(job));
    end_script();
    if (stays || writes) lane_.left(stays, writes);
    if (duty_ == Duty::script) lane_.left_script();
    return;
  }
  executor_->idle();
  describe(false);
  epoll_event events[4];
  const size_t count = poller_.wait(events, static_cast<int>(std::max<int64_t>(wait_until_ms - now_ms, 0)));
  for (size_t i = 0; i < count; ++i) {
    if (events[i].data.ptr == &wake_) wake_.drain();
    else lane_.unpark_ready();
  }
  lane_.unpark_silent(clock_ms(), counters_);
}

void SlowLane::LaneThread::describe(bool working) {
  if (working == described_working_) return;
  described_working_ = working;
  if (working) executor_->describe(works_text_);
  else executor_->hide();
}

/// Whoever looks for a script's thread to KILL it must not find one whose script has been answered.
void SlowLane::LaneThread::end_script() {
  if (duty_ == Duty::script) describe(false);
}

/// Out of memory ends this connection, and no other.
void SlowLane::LaneThread::run(std::unique_ptr<SlowJob> job) {
  try {
    carry_out(job);
  } catch (const std::bad_alloc &) {
    if (job == nullptr) return;
    counters_.add(Failure::out_of_memory);
    job->connection->output.bound_to_turn();
    job->connection->die();
    go_home(std::move(job));
  }
}

/// When this returns another thread has the job, or it has gone home.
void SlowLane::LaneThread::carry_out(std::unique_ptr<SlowJob> &job) {
  Connection &connection = *job->connection;
  StreamValve valve(lane_, connection, lane_.stop_, counters_);
  connection.output.stream_through(valve);
  if (!connection.is_dead()) valve.resume();
  if (valve.stalled()) return park(std::move(job));
  while (!job->all_done() && !connection.is_dead() && !connection.output.broken()) {
    Op &op = job->op();
    if (lane_.duty_for(*job) != duty_) {
      valve.flush(0);
      return hand_over(std::move(job));
    }
    if (op.verb == Verb::login && op.failure == Failure::none) {
      if (!admit(*job)) return hand_over(std::move(job));
      if (op.progress == Progress::done) {
        ++job->next;
        continue;
      }
    }
    const std::span<Op> ops = job->ops_to_run();
    if (ops.size() == 1) op.position = &job->position;
    const Progress before = op.progress;
    const bool was_let_in = run_ops(*job, ops, valve);
    if (is_held_up(op.progress)) {
      // Complete answers are sent at once. A begun reply is kept whole as long as possible.
      if (job->position == nullptr) valve.flush(0);
      return postpone(std::move(job));
    }
    if (op.progress == Progress::done) {
      if (op.verb == Verb::login) lane_.logins_.note(*job, clock_ms());
      if (slow_log_.on()) slow_log_.note(connection, ops, job->began_us);
      job->began_us = clock_us();
      job->next += ops.size();
      job->lost_runs = 0;
      job->position.reset();
      not_busy(*job);
      if (was_let_in && is_held_up(before)) let_others_try(ops, before);
      // It came here because of a lock. Its later requests go back to the worker, to run with those of others.
      if (is_held_up(before) && !job->all_done()) break;
      // The next reply must begin below high water; at the end the worker sends the rest.
      if (!job->all_done() && connection.output.pending_bytes() >= StreamValve::flush_bytes)
        valve.flush(limits::client_stall_ms_max);
      if (valve.stalled()) return park(std::move(job));
      if (!job->all_done() && valve.time_is_up(clock_ms())) {
        valve.flush(0);
        return make_way(std::move(job));
      }
    } else {
      not_busy(*job);
      if (connection.is_dead()) break;
      if (valve.stalled()) return park(std::move(job));
      if (valve.time_was_up()) return make_way(std::move(job));
      return postpone(std::move(job));  // DDL waits, or the thread must end
    }
  }
  connection.output.bound_to_turn();
  if (!connection.is_dead()) connection.output.release();
  if (!connection.is_dead() && !connection.output.broken() && !job->all_done()) job->take_the_rest_along();
  end_script();
  go_home(std::move(job));
}

bool SlowLane::LaneThread::admit(SlowJob &job) {
  Op &op = job.op();
  op.progress = Progress::waiting;
  switch (lane_.logins_.admit(job, name_, lane_.logins_waiting(), clock_ms())) {
    case Logins::Admission::now: return true;
    case Logins::Admission::later: return false;
    case Logins::Admission::refused: break;
  }
  counters_.add(Counter::logins_failed);
  tell({&op, 1}, {.failure = Failure::too_many_logins});
  return true;
}

bool SlowLane::LaneThread::run_ops(SlowJob &job, std::span<Op> ops, StreamValve &valve) {
  Output &output = job.connection->output;
  const Output::Mark mark = output.mark();
  const Unit *const unit = job.unit();
  const Unit all{0, static_cast<uint32_t>(ops.size()), unit != nullptr && unit->atomic};
  // The answer to a write leaves once the write is committed, and a unit is answered as a whole.
  const bool held = unit != nullptr || writes(ops[0].verb);
  if (held) output.hold_until_commit();
  const int64_t began_ms = clock_ms();
  const Settlement settlement =
      executor_->run({.ops = ops, .units = {&all, unit != nullptr ? size_t{1} : 0}, .lane = Lane::alone});
  output.stream_through(valve);
  Progress &progress = ops[0].progress;
  const bool done = settlement.lasted() && progress == Progress::done;
  if (held && !done) {
    output.rewind(mark);
    for (const Op &op : ops) op.reply->restart();
  }
  if (!settlement.lasted()) note_lost(job, ops, settlement);
  if (held && is_held_up(progress) && clock_ms() - began_ms > job.row_wait_ms + limits::slice_ms)
    job.long_running = true;
  if (is_held_up(progress) && !may_wait(job, progress))
    tell(ops, {.failure = progress == Progress::busy ? Failure::table_busy : Failure::row_locked});
  return done;
}

void SlowLane::LaneThread::note_lost(SlowJob &job, std::span<Op> ops, const Settlement &settlement) {
  const bool by_backup = settlement.failure == Failure::table_busy;
  if (settlement.repeatable && by_backup) {
    ops[0].progress = Progress::busy;
  } else if (settlement.repeatable && ++job.lost_runs <= limits::lost_runs_max) {
    ops[0].progress = Progress::locked;  // others need the lock: let them go first
  } else {
    tell(ops, settlement.outcome());
  }
}

void SlowLane::LaneThread::let_others_try(std::span<const Op> ops, Progress before) {
  for (const Op &op : ops) {
    const Binding *const binding = op.slot != nullptr ? op.slot->binding() : nullptr;
    if (binding == nullptr) continue;
    if (before == Progress::busy) lane_.let_go(binding->spec());
    else lane_.try_waiters_for_rows(binding->spec());
  }
}

bool SlowLane::LaneThread::may_wait(SlowJob &job, Progress held_up) const {
  const int64_t now_ms = clock_ms();
  int64_t &busy_since_ms = job.work->busy_since_ms;
  if (busy_since_ms < 0) busy_since_ms = now_ms;
  job.busy_retry_ms =
      std::clamp(job.busy_retry_ms * 2, limits::busy_retry_ms_min, static_cast<int>(lane_.retry_ms_max()));
  const int64_t most_ms = held_up == Progress::busy ? int64_t{lane_.options_.table_wait_ms} : executor_->row_wait_ms();
  return now_ms - busy_since_ms < most_ms;
}

void SlowLane::LaneThread::tell(std::span<Op> ops, const Outcome &outcome) {
  for (Op &op : ops) {
    count_failure(counters_, op, outcome.failure);
    op.reply->done(outcome);
    op.progress = Progress::done;
  }
}

void SlowLane::LaneThread::not_busy(SlowJob &job) {
  job.work->busy_since_ms = -1;
  job.busy_retry_ms = 0;
}

void SlowLane::LaneThread::postpone(std::unique_ptr<SlowJob> job) {
  job->connection->output.bound_to_turn();
  job->due_ms = clock_ms() + std::max(job->busy_retry_ms, limits::busy_retry_ms_min);
  job->note_doing();
  lane_.put_back(std::move(job));
}

void SlowLane::LaneThread::hand_over(std::unique_ptr<SlowJob> job) {
  job->connection->output.bound_to_turn();
  lane_.put_back(std::move(job));
}

void SlowLane::LaneThread::make_way(std::unique_ptr<SlowJob> job) {
  job->connection->output.bound_to_turn();
  job->long_running = true;
  lane_.put_back(std::move(job));
}

void SlowLane::LaneThread::park(std::unique_ptr<SlowJob> job) {
  job->connection->listed.note_doing(Doing::sending);
  job->connection->output.bound_to_turn();
  lane_.park(std::move(job));
}

}  // namespace postern::door
