#include "door/slow_lane.h"

#include <algorithm>
#include <span>

#include "base/limits.h"
#include "door/scan_thread.h"
#include "door/worker.h"

namespace postern::door {

SlowLane::SlowLane(const Settings &settings, Engine &engine, Access access)
    : settings_(settings), engine_(engine), access_(access) {}

SlowLane::~SlowLane() {
  stop();
}

bool SlowLane::start() {
  const auto add = [this](Duty duty, const char *work, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      threads_.push_back(std::make_unique<ScanThread>(*this, duty, settings_.name + work + std::to_string(i + 1)));
  };
  add(Duty::scan, " scan ", std::max<uint32_t>(settings_.scan_threads, 1));
  add(Duty::login, " login ", settings_.login_threads);
  threads_running_ = static_cast<uint32_t>(threads_.size());
  for (const auto &thread : threads_) {
    if (!thread->start()) return false;
  }
  return true;
}

void SlowLane::stop() {
  stop_.store(true, std::memory_order_release);
  wake_all();
  for (const auto &thread : threads_) thread->join();
  close();
}

/// Sends everything that is left home, dead, and takes no more.
void SlowLane::close() {
  std::vector<std::unique_ptr<SlowJob>> left;
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    for (auto &job : logins_) left.push_back(std::move(job));
    for (auto &job : runnable_) left.push_back(std::move(job));
    for (auto &job : long_running_) left.push_back(std::move(job));
    for (auto &job : delayed_) left.push_back(std::move(job));
    for (auto &job : parked_) left.push_back(std::move(job));
    logins_.clear();
    runnable_.clear();
    long_running_.clear();
    delayed_.clear();
    parked_.clear();
  }
  for (auto &job : left) {
    job->connection->dead = true;
    go_home(std::move(job));
  }
}

/// The last thread to go, because the server stops, leaves nobody hanging.
void SlowLane::thread_left() {
  if (threads_running_.fetch_sub(1, std::memory_order_acq_rel) == 1) close();
}

void SlowLane::submit(std::unique_ptr<SlowJob> job) {
  put_back(std::move(job));
}

void SlowLane::put_back(std::unique_ptr<SlowJob> job) {
  {
    const std::lock_guard guard(mutex_);
    if (!closed_) {
      if (job->due_ms != 0) delayed_.push_back(std::move(job));
      else queue_for(*job).push_back(std::move(job));
    }
  }
  if (job == nullptr) return wake_all();
  job->connection->dead = true;
  go_home(std::move(job));
}

/// Without threads for logins, which a door whose protocol has none does not start, every thread does everything.
SlowLane::Duty SlowLane::duty_for(const SlowJob &job) const {
  const bool login =
      settings_.login_threads != 0 && job.next != job.ops.size() && job.ops[job.next].verb == Verb::login;
  return login ? Duty::login : Duty::scan;
}

std::deque<std::unique_ptr<SlowJob>> &SlowLane::queue_for(const SlowJob &job) {
  if (duty_for(job) == Duty::login) return logins_;
  return job.long_running ? long_running_ : runnable_;
}

size_t SlowLane::logins_waiting() {
  const std::lock_guard guard(mutex_);
  return logins_.size() + static_cast<size_t>(std::count_if(delayed_.begin(), delayed_.end(), [this](const auto &job) {
           return duty_for(*job) == Duty::login;
         }));
}

std::unique_ptr<SlowJob> SlowLane::take(Duty duty, int64_t now_ms, int64_t &wait_until_ms) {
  const std::lock_guard guard(mutex_);
  for (size_t i = 0; i < delayed_.size();) {
    if (delayed_[i]->due_ms > now_ms) {
      wait_until_ms = std::min(wait_until_ms, delayed_[i]->due_ms);
      ++i;
      continue;
    }
    delayed_[i]->due_ms = 0;
    auto &queue = queue_for(*delayed_[i]);
    queue.push_back(std::move(delayed_[i]));
    std::swap(delayed_[i], delayed_.back());
    delayed_.pop_back();
  }
  if (settings_.idle_timeout_ms > 0)
    for (const auto &job : parked_)
      wait_until_ms = std::min(wait_until_ms, job->connection->active_ms + settings_.idle_timeout_ms);
  if (duty == Duty::login) {
    if (logins_.empty()) return nullptr;
    std::unique_ptr<SlowJob> login = std::move(logins_.front());
    logins_.pop_front();
    return login;
  }
  // Who has not had much goes first, but not for ever.
  const bool long_running = !long_running_.empty() && (runnable_.empty() || long_running_due_ms_ <= now_ms);
  if (long_running) long_running_due_ms_ = now_ms + 2 * limits::slice_ms;
  auto &jobs = long_running ? long_running_ : runnable_;
  if (jobs.empty()) return nullptr;
  std::unique_ptr<SlowJob> job = std::move(jobs.front());
  jobs.pop_front();
  return job;
}

bool SlowLane::others_wait(int64_t now_ms) {
  const std::lock_guard guard(mutex_);
  return !runnable_.empty() || !long_running_.empty() ||
         std::any_of(delayed_.begin(), delayed_.end(),
                     [this, now_ms](const auto &job) { return job->due_ms <= now_ms && duty_for(*job) == Duty::scan; });
}

/// Until its client reads, a job needs no thread.
void SlowLane::park(std::unique_ptr<SlowJob> job) {
  SlowJob *const parked = job.get();
  const int fd = job->connection->channel->fd();
  const bool reads = job->connection->channel->wishes().readable_to_send;
  const std::lock_guard guard(mutex_);
  if (closed_) {
    parked->connection->dead = true;
    return go_home(std::move(job));
  }
  parked_.push_back(std::move(job));
  if (!parked_poller_.add(fd, (reads ? net::Poller::readable : net::Poller::writable) | net::Poller::once, parked)) {
    parked->connection->dead = true;
    runnable_.push_back(std::move(parked_.back()));
    parked_.pop_back();
  }
}

void SlowLane::unpark_ready() {
  epoll_event events[64];
  const size_t count = parked_poller_.wait(events, 0);
  const std::lock_guard guard(mutex_);
  for (const epoll_event &event : std::span(events).first(count)) unpark(static_cast<SlowJob *>(event.data.ptr));
}

/// A client that takes nothing for as long as a silent one may stay is closed.
void SlowLane::unpark_silent(int64_t now_ms, Counters &counters) {
  if (settings_.idle_timeout_ms <= 0) return;
  const std::lock_guard guard(mutex_);
  for (size_t i = parked_.size(); i-- > 0;) {
    SlowJob &job = *parked_[i];
    if (job.connection->active_ms + settings_.idle_timeout_ms > now_ms) continue;
    job.connection->dead = true;
    counters.add(Counter::connections_timed_out);
    unpark(&job);
  }
}

/// With mutex_ held. A job that somebody else unparked already is not found.
void SlowLane::unpark(SlowJob *job) {
  const auto found = std::find_if(parked_.begin(), parked_.end(), [job](const auto &one) { return one.get() == job; });
  if (found == parked_.end()) return;
  parked_poller_.remove(job->connection->channel->fd());
  queue_for(*job).push_back(std::move(*found));
  std::swap(*found, parked_.back());
  parked_.pop_back();
}

/// `table` is not held any more: whoever waits for it goes home. One by one, and each with a commit of its own, they
/// would still be at it when the next lock comes.
void SlowLane::let_go(const TableSpec &table) {
  std::vector<std::unique_ptr<SlowJob>> free;
  const auto let_go_from = [&](auto &jobs) {
    for (auto &job : jobs)
      if (waits_for(*job, table)) free.push_back(std::move(job));
    std::erase(jobs, nullptr);
  };
  {
    const std::lock_guard guard(mutex_);
    let_go_from(runnable_);
    let_go_from(delayed_);
  }
  for (auto &job : free) {
    take_the_rest_along(*job);
    go_home(std::move(job));
  }
}

bool SlowLane::waits_for(const SlowJob &job, const TableSpec &table) {
  if (job.next == job.ops.size() || job.position != nullptr || job.connection->dead) return false;
  const Op &op = job.ops[job.next];
  const Binding *const binding = op.slot != nullptr ? op.slot->binding() : nullptr;
  return op.progress == Progress::busy && binding != nullptr && binding->spec().table == table.table &&
         binding->spec().database == table.database;
}

/// What is not done is the worker's again.
void SlowLane::take_the_rest_along(SlowJob &job) {
  auto rest = std::make_unique<PutOff>();
  rest->arena = std::move(job.arena);
  rest->ops.assign(job.ops.begin() + static_cast<ptrdiff_t>(job.next), job.ops.end());
  rest->ops.front().position = nullptr;
  rest->busy_since_ms = job.busy_since_ms;
  job.connection->put_off = std::move(rest);
}

void SlowLane::go_home(std::unique_ptr<SlowJob> job) {
  // The position dies here, on a thread of the engine's; the ops before the connection that their slots belong to.
  job->position.reset();
  job->ops.clear();
  std::unique_ptr<Connection> connection = std::move(job->connection);
  Worker *const home = job->home;
  job.reset();
  home->take_back(std::move(connection));
}

void SlowLane::wake_all() {
  for (const auto &thread : threads_) thread->wake();
}

void SlowLane::add_counters(Counters &sum) const {
  for (const auto &thread : threads_) sum.absorb(thread->counters());
}

}  // namespace postern::door
