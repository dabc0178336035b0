#include "door/lanes/slow_lane.h"

#include <algorithm>
#include <span>

#include "base/limits.h"
#include "door/lanes/lane_thread.h"

namespace postern::door {

SlowLane::SlowLane(const Options &options, Engine &engine, Access access)
    : options_(options), engine_(engine), access_(access) {}

SlowLane::~SlowLane() {
  stop();
}

bool SlowLane::start() {
  const auto add = [this](Duty duty, const char *work, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      threads_.push_back(std::make_unique<LaneThread>(*this, duty, options_.name + work + std::to_string(i + 1)));
  };
  add(Duty::scan, " scan ", static_cast<uint32_t>(scan_threads()) + (access_ == Access::write ? 1 : 0));
  add(Duty::login, " login ", options_.login_threads);
  const size_t at_once = threads_.size() + (options_.script_threads != 0 ? 1 : 0);
  add(Duty::script, " script ", options_.script_threads);
  threads_running_ = static_cast<uint32_t>(at_once);
  script_threads_ = at_once - (threads_.size() - options_.script_threads);
  for (const auto &thread : std::span(threads_).first(at_once)) {
    if (!thread->start()) return false;
  }
  return true;
}

/// With mutex_ held. Starts as many threads as there are scripts, if the system allows; the newest are last.
void SlowLane::start_script_threads() {
  while (script_threads_ < std::min<size_t>(options_.script_threads, scripts_running_ + script_jobs_.size())) {
    threads_running_.fetch_add(1, std::memory_order_acq_rel);
    if (!threads_[threads_.size() - options_.script_threads + script_threads_]->start()) {
      threads_running_.fetch_sub(1, std::memory_order_acq_rel);
      return;
    }
    ++script_threads_;
  }
}

void SlowLane::stop() {
  {
    const std::lock_guard guard(mutex_);  // no thread is started any more
    stop_.store(true, std::memory_order_release);
  }
  wake_all();
  for (const auto &thread : threads_) thread->join();
  close();
}

/// Closes the lane: sends all remaining jobs home, dead.
void SlowLane::close() {
  JobQueue left;
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    for (JobQueue *const jobs :
         {&login_jobs_, &script_jobs_, &runnable_, &held_up_, &long_running_, &delayed_, &parked_})
      while (std::unique_ptr<SlowJob> job = jobs->pop_front()) left.push_back(std::move(job));
  }
  while (std::unique_ptr<SlowJob> job = left.pop_front()) {
    job->connection->die();
    go_home(std::move(job));
  }
}

/// The last thread to end, because the server stops, closes the lane, so no job waits for ever.
void SlowLane::thread_left() {
  if (threads_running_.fetch_sub(1, std::memory_order_acq_rel) == 1) close();
}

void SlowLane::submit(std::unique_ptr<SlowJob> job) {
  put_back(std::move(job));
}

/// False once the lane is closed; `job` is left then.
bool SlowLane::queue_up(std::unique_ptr<SlowJob> &job) {
  const std::lock_guard guard(mutex_);
  if (closed_) return false;
  JobQueue &queue = job->due_ms != 0 ? delayed_ : queue_for(*job);
  queue.push_back(std::move(job));
  if (!stop_.load(std::memory_order_relaxed)) start_script_threads();
  return true;
}

void SlowLane::put_back(std::unique_ptr<SlowJob> job) {
  if (queue_up(job)) return wake_all();
  job->connection->die();
  go_home(std::move(job));
}

/// A door without logins or scripts has no threads for them, and every thread takes every job.
SlowLane::Duty SlowLane::duty_for(const SlowJob &job) const {
  if (job.all_done()) return Duty::scan;
  const Op &op = job.op();
  if (options_.login_threads != 0 && op.verb == Verb::login) return Duty::login;
  if (options_.script_threads != 0 && op.verb == Verb::script && op.script->may_last()) return Duty::script;
  return Duty::scan;
}

JobQueue &SlowLane::queue_for(const SlowJob &job) {
  switch (duty_for(job)) {
    case Duty::login: return login_jobs_;
    case Duty::script: return script_jobs_;
    case Duty::scan: break;
  }
  if (job.is_held_up()) return held_up_;
  return job.long_running ? long_running_ : runnable_;
}

size_t SlowLane::logins_waiting() {
  const std::lock_guard guard(mutex_);
  return login_jobs_.size() + delayed_.count_if([this](const SlowJob &job) { return duty_for(job) == Duty::login; });
}

/// Milliseconds between two tries of a job that waits for a table or a row.
size_t SlowLane::retry_ms_max() {
  const std::lock_guard guard(mutex_);
  return std::max<size_t>(limits::busy_retry_ms_max, jobs_waiting() / limits::busy_tries_per_ms_max);
}

std::unique_ptr<SlowJob> SlowLane::take(Duty duty, int64_t now_ms, int64_t &wait_until_ms) {
  const std::lock_guard guard(mutex_);
  delayed_.visit([&](SlowJob &job) {
    if (job.due_ms > now_ms) {
      wait_until_ms = std::min(wait_until_ms, job.due_ms);
      return;
    }
    job.due_ms = 0;
    queue_for(job).push_back(delayed_.remove(job));
  });
  if (options_.idle_timeout_ms > 0) {
    parked_.visit([&](const SlowJob &job) {
      wait_until_ms = std::min(wait_until_ms, job.connection->listed.active_ms() + options_.idle_timeout_ms);
    });
  }
  if (duty == Duty::login) {
    std::unique_ptr<SlowJob> login = login_jobs_.pop_front();
    if (login != nullptr) login->stays = login->wrote = false;
    return login;
  }
  if (duty == Duty::script) return take_script();
  std::unique_ptr<SlowJob> job = take_runnable(now_ms);
  if (job == nullptr) {
    passed_by_ = passed_by_ || !runnable_.empty() || !held_up_.empty() || !long_running_.empty();
    return nullptr;
  }
  allow_row_wait(*job);
  job->wrote = job->writes();
  if (job->wrote) {
    ++writing_;
  } else if (passed_by_ && writing_ < scan_threads()) {
    passed_by_ = false;
    wake_all();
  }
  return job;
}

/// It may wait for a row as long as no other waits for its thread.
std::unique_ptr<SlowJob> SlowLane::take_script() {
  std::unique_ptr<SlowJob> script = script_jobs_.pop_front();
  if (script == nullptr) return nullptr;
  ++scripts_running_;
  script->stays = script->wrote = false;
  const int waiting = static_cast<int>(script_jobs_.size());
  script->row_wait_ms =
      waiting == 0 ? limits::row_wait_slow_ms : std::max(limits::row_wait_shared_ms / (1 + waiting), 1);
  return script;
}

bool SlowLane::any_to_take(const JobQueue &queue) const {
  return queue.find_if([this](const SlowJob &job) { return may_take(job); }) != nullptr;
}

std::unique_ptr<SlowJob> SlowLane::take_first(JobQueue &queue) {
  SlowJob *const first = queue.find_if([this](const SlowJob &job) { return may_take(job); });
  return first != nullptr ? queue.remove(*first) : nullptr;
}

/// Jobs that have run little go first, in turns with held-up ones, but do not starve the long-running ones.
std::unique_ptr<SlowJob> SlowLane::take_runnable(int64_t now_ms) {
  std::unique_ptr<SlowJob> job;
  if (!long_running_.empty() && long_running_due_ms_ <= now_ms) job = take_long_running(now_ms);
  if (job == nullptr && (held_up_next_ || !any_to_take(runnable_))) job = take_held_up();
  if (job == nullptr && (job = take_first(runnable_)) != nullptr) held_up_next_ = true;
  if (job == nullptr) job = take_long_running(now_ms);
  return job;
}

std::unique_ptr<SlowJob> SlowLane::take_long_running(int64_t now_ms) {
  std::unique_ptr<SlowJob> job = take_first(long_running_);
  if (job != nullptr) long_running_due_ms_ = now_ms + 2 * limits::slice_ms;
  return job;
}

/// Runnable jobs do not wait for held-up ones. A job that works long before it is held up must leave threads to others,
/// too, and so counts as one that stays.
std::unique_ptr<SlowJob> SlowLane::take_held_up() {
  held_up_next_ = false;
  const bool may_stay = staying_ < std::max<size_t>(staying_max(), 1);
  SlowJob *const found = held_up_.find_if([this, may_stay](const SlowJob &job) {
    return may_take(job) && (may_stay || !job.long_running || !job.writes_next());
  });
  return found != nullptr ? held_up_.remove(*found) : nullptr;
}

/// How long the job may wait for a locked row: the more jobs wait for a thread, the less.
void SlowLane::allow_row_wait(SlowJob &job) {
  const bool held_up = job.is_held_up();
  job.row_wait_ms = limits::row_wait_shared_ms / (1 + static_cast<int>(jobs_waiting()));
  // Otherwise none of many jobs would ever be in the storage engine's queue.
  if (held_up) job.row_wait_ms = std::max(job.row_wait_ms, 1);
  const bool may_stay = staying_ < staying_max() && (held_up || held_up_.empty());
  job.stays = job.writes_next() && (may_stay || (held_up && job.long_running));
  if (!job.stays) return;
  ++staying_;
  if (may_stay) job.row_wait_ms = limits::row_wait_slow_ms;
}

void SlowLane::left(bool stayed, bool wrote) {
  const std::lock_guard guard(mutex_);
  if (stayed) --staying_;
  if (wrote) --writing_;
}

void SlowLane::left_script() {
  const std::lock_guard guard(mutex_);
  --scripts_running_;
}

bool SlowLane::others_wait(int64_t now_ms) {
  const std::lock_guard guard(mutex_);
  if (any_to_take(runnable_) || any_to_take(held_up_) || any_to_take(long_running_)) return true;
  return delayed_.find_if([this, now_ms](const SlowJob &job) {
    return job.due_ms <= now_ms && duty_for(job) == Duty::scan && may_take(job);
  }) != nullptr;
}

/// Until its client reads, a job needs no thread.
void SlowLane::park(std::unique_ptr<SlowJob> job) {
  SlowJob *const parked = job.get();
  const int fd = job->connection->channel.fd();
  const bool reads = job->connection->channel.wishes().readable_to_send;
  const std::lock_guard guard(mutex_);
  if (closed_) {
    parked->connection->die();
    return go_home(std::move(job));
  }
  parked_.push_back(std::move(job));
  if (!parked_poller_.add(fd, (reads ? net::Poller::readable : net::Poller::writable) | net::Poller::once, parked)) {
    parked->connection->die();
    runnable_.push_back(parked_.remove(*parked));
  }
}

void SlowLane::unpark_ready() {
  epoll_event events[64];
  const size_t count = parked_poller_.wait(events, 0);
  const std::lock_guard guard(mutex_);
  for (const epoll_event &event : std::span(events).first(count)) unpark(static_cast<SlowJob *>(event.data.ptr));
}

/// A client that reads nothing for the idle timeout is closed.
void SlowLane::unpark_silent(int64_t now_ms, Counters &counters) {
  if (options_.idle_timeout_ms <= 0) return;
  const std::lock_guard guard(mutex_);
  parked_.visit([&](SlowJob &job) {
    if (job.connection->listed.active_ms() + options_.idle_timeout_ms > now_ms) return;
    job.connection->die();
    counters.add(Counter::connections_timed_out);
    unpark(&job);
  });
}

/// With mutex_ held. A job that somebody else unparked already is not found.
void SlowLane::unpark(SlowJob *job) {
  if (parked_.find_if([job](const SlowJob &one) { return &one == job; }) == nullptr) return;
  parked_poller_.remove(job->connection->channel.fd());
  queue_for(*job).push_back(parked_.remove(*job));
}

/// `table` is no longer held: jobs that wait for it go home. One by one, each with its own commit, they might not
/// finish before the next lock.
void SlowLane::let_go(const TableSpec &table) {
  JobQueue free;
  const auto let_go_from = [&](JobQueue &jobs) {
    jobs.visit([&](SlowJob &job) {
      if (waits_for(job, table, Progress::busy)) free.push_back(jobs.remove(job));
    });
  };
  {
    const std::lock_guard guard(mutex_);
    let_go_from(held_up_);
    let_go_from(delayed_);
  }
  while (std::unique_ptr<SlowJob> job = free.pop_front()) {
    job->take_the_rest_along();
    go_home(std::move(job));
  }
}

/// A row lock in `table` was released. Other waiters for rows of it were often waiting for the same transaction: tries
/// a few of them, the longest waiting first; those that get their rows cause further tries.
void SlowLane::try_waiters_for_rows(const TableSpec &table) {
  const std::lock_guard guard(mutex_);
  JobQueue tried;
  while (tried.size() != limits::row_waiters_tried) {
    SlowJob *longest = nullptr;
    delayed_.visit([&](SlowJob &job) {
      if (!waits_for(job, table, Progress::locked)) return;
      if (longest == nullptr || job.work->busy_since_ms < longest->work->busy_since_ms) longest = &job;
    });
    if (longest == nullptr) break;
    longest->due_ms = 0;
    tried.push_back(delayed_.remove(*longest));
  }
  while (std::unique_ptr<SlowJob> job = tried.pop_back()) {
    JobQueue &its = queue_for(*job);
    its.push_front(std::move(job));
  }
}

bool SlowLane::waits_for(const SlowJob &job, const TableSpec &table, Progress held_up) {
  if (job.all_done() || job.position != nullptr || job.connection->is_dead()) return false;
  if (job.op().progress != held_up) return false;
  const std::span<const Op> ops = job.ops_to_run();
  return std::any_of(ops.begin(), ops.end(), [&table](const Op &op) {
    const Binding *const binding = op.slot != nullptr ? op.slot->binding() : nullptr;
    return binding != nullptr && binding->spec().table == table.table && binding->spec().database == table.database;
  });
}

void SlowLane::go_home(std::unique_ptr<SlowJob> job) {
  // The position must be deleted here, on a thread of the engine, and the ops before the connection that owns their
  // slots.
  job->position.reset();
  job->work.reset();
  std::unique_ptr<Connection> connection = std::move(job->connection);
  Home *const home = job->home;
  job.reset();
  home->return_connection(std::move(connection));
}

void SlowLane::wake_all() {
  for (const auto &thread : threads_) thread->wake();
}

void SlowLane::add_counters(Counters &sum) const {
  for (const auto &thread : threads_) sum.absorb(thread->counters());
}

}  // namespace postern::door
