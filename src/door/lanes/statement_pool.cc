#include "door/lanes/statement_pool.h"

#include <semaphore.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"
#include "door/lanes/job_queue.h"
#include "door/lanes/serve_statement.h"
#include "door/connections/thread.h"

namespace postern::door {
namespace {

/// Ends an idle thread's sleep. The mutex is not held meanwhile: whoever wakes up with one that it has slept on asks
/// the kernel for others that wait for it.
class Bell {
 public:
  Bell() { sem_init(&rung_, 0, 0); }
  ~Bell() { sem_destroy(&rung_); }
  Bell(const Bell &) = delete;
  Bell &operator=(const Bell &) = delete;

  void ring() { sem_post(&rung_); }
  /// False: nobody has rung it for so many seconds.
  bool wait(int seconds) {
    const timespec until = deadline_after_us(int64_t{seconds} * 1'000'000);
    int failed = 0;
    do {
      failed = sem_clockwait(&rung_, CLOCK_MONOTONIC, &until);
    } while (failed != 0 && errno == EINTR);
    return failed == 0;
  }

 private:
  sem_t rung_;
};

}  // namespace

struct StatementPool::State {
  explicit State(std::string its_name) : name(std::move(its_name)) {}

  bool may_log_in() const { return !logins.empty() && logins_running < limits::pool_logins_max; }
  bool has_work() const { return !statements.empty() || may_log_in() || endings_waiting != 0; }
  std::unique_ptr<SlowJob> take();
  bool queue(std::unique_ptr<SlowJob> &job, const std::shared_ptr<State> &self);
  bool has_threads_enough(const std::shared_ptr<State> &self);
  std::shared_ptr<Bell> call_one();

  const std::string name;
  std::mutex mutex;  // guards the members below; taken before sessions' mutexes
  std::condition_variable left;
  JobQueue statements;
  JobQueue logins;
  size_t logins_running = 0;
  Arrivals endings;
  size_t endings_waiting = 0;
  PoolThread *serving = nullptr;  // threads that have a job
  size_t threads = 0;
  size_t orphans = 0;  // threads that stop() does not wait for
  /// Idle threads. The last one to sleep is called first: its data is still in the processor's cache, and surplus
  /// threads sleep until they end. Has room for all threads.
  std::vector<PoolThread *> asleep;
  size_t waking = 0;  // threads that were called and have not looked for work yet
  bool stopped = false;
  std::optional<pthread_t> left_last;  // the last ended thread, not joined yet
  Counters counters;
};

/// One thread, from its first job to its last. Deletes itself.
class StatementPool::PoolThread {
 public:
  explicit PoolThread(std::shared_ptr<State> state) : state_(std::move(state)) {}

  static void work(void *self);
  /// The calling thread, if it is one of the pool's.
  static PoolThread *current(const State *state) {
    return current_ != nullptr && current_->state_.get() == state ? current_ : nullptr;
  }
  /// With the pool's mutex held.
  void orphan() {
    if (!std::exchange(orphaned, true)) ++state_->orphans;
  }

  // With the pool's mutex held.
  ServerSession *session = nullptr;  // that it serves
  PoolThread *before = nullptr;
  PoolThread *behind = nullptr;
  bool orphaned = false;  // the pool is gone, and the worker
  bool called = false;    // it is no longer among those that sleep
  /// Rung without the pool's mutex, which the thread would wait for at once: so it may outlive the thread.
  const std::shared_ptr<Bell> bell = std::make_shared<Bell>();

 private:
  void serve_all();
  void link(ServerSession *served);
  void unlink();
  void serve(std::unique_ptr<SlowJob> job, std::unique_lock<std::mutex> &lock);

  bool sleep(std::unique_lock<std::mutex> &lock);

  static thread_local PoolThread *current_;
  const std::shared_ptr<State> state_;
};

thread_local StatementPool::PoolThread *StatementPool::PoolThread::current_ = nullptr;

std::unique_ptr<SlowJob> StatementPool::State::take() {
  if (!statements.empty()) return statements.pop_front();
  if (!may_log_in()) return nullptr;
  return logins.pop_front();
}

/// With the mutex held. Starts a thread if there are too few for the waiting jobs; false if there is none at all.
bool StatementPool::State::has_threads_enough(const std::shared_ptr<State> &self) {
  const size_t logins_next = std::min(logins.size(), limits::pool_logins_max - logins_running);
  const size_t wanted = statements.size() + logins_next + std::min(endings_waiting, limits::pool_endings_max);
  if (wanted <= asleep.size() + waking) return true;
  try {
    asleep.reserve(threads + 1);
    auto thread = std::make_unique<PoolThread>(self);
    if (Thread::start_loose(PoolThread::work, thread.get())) {
      (void)thread.release();
      ++threads;
    }
  } catch (const std::bad_alloc &) {
  }
  return threads != 0;
}

/// With the mutex held. The bell of an idle thread for the new job; nullptr: none is idle.
std::shared_ptr<Bell> StatementPool::State::call_one() {
  if (asleep.empty()) return nullptr;
  PoolThread *const one = asleep.back();
  asleep.pop_back();
  one->called = true;
  ++waking;
  return one->bell;
}

/// False if the pool is stopped or has no thread; the job is left.
bool StatementPool::State::queue(std::unique_ptr<SlowJob> &job, const std::shared_ptr<State> &self) {
  std::unique_lock lock(mutex);
  if (stopped) return false;
  JobQueue &its_queue = is_login(*job) ? logins : statements;
  its_queue.push_back(std::move(job));
  if (!has_threads_enough(self)) {
    job = its_queue.pop_back();
    return false;
  }
  const std::shared_ptr<Bell> called = call_one();
  lock.unlock();
  if (called != nullptr) called->ring();
  return true;
}

void StatementPool::PoolThread::work(void *self) {
  const std::unique_ptr<PoolThread> thread(static_cast<PoolThread *>(self));
  current_ = thread.get();
  pthread_setname_np(pthread_self(), thread->state_->name.substr(0, 15).c_str());
  thread->serve_all();
  current_ = nullptr;
}

void StatementPool::PoolThread::link(ServerSession *served) {
  session = served;
  before = nullptr;
  behind = state_->serving;
  if (behind != nullptr) behind->before = this;
  state_->serving = this;
}

void StatementPool::PoolThread::unlink() {
  (before != nullptr ? before->behind : state_->serving) = behind;
  if (behind != nullptr) behind->before = before;
  session = nullptr;
}

void StatementPool::PoolThread::serve_all() {
  State &state = *state_;
  std::unique_lock lock(state.mutex);
  for (;;) {
    if (std::unique_ptr<SlowJob> job = state.take()) {
      serve(std::move(job), lock);
      if (orphaned) break;
    } else if (std::unique_ptr<Connection> ending = state.endings.next()) {
      --state.endings_waiting;
      lock.unlock();
      end_session(*ending);
      ending.reset();
      lock.lock();
    } else if (state.stopped) {
      break;
    } else if (!sleep(lock) && !state.has_work()) {
      break;
    }
  }
  pool::drain();
  --state.threads;
  if (orphaned) --state.orphans;
  state.left.notify_all();
  // Each ending thread joins the previous one and stop() the last, so that none runs this code when the library is
  // unloaded. No thread is left to join an orphan.
  std::optional<pthread_t> before_us;
  if (orphaned) pthread_detach(pthread_self());
  else before_us = std::exchange(state.left_last, pthread_self());
  lock.unlock();
  if (before_us) pthread_join(*before_us, nullptr);
}

/// With the lock held, before and after. False: it was not called within the idle time of a thread.
bool StatementPool::PoolThread::sleep(std::unique_lock<std::mutex> &lock) {
  called = false;
  state_->asleep.push_back(this);
  lock.unlock();
  const bool rung = bell->wait(limits::pool_idle_s);
  lock.lock();
  if (!called) {
    std::erase(state_->asleep, this);
    return false;
  }
  if (!rung) bell->wait(limits::pool_idle_s);  // whoever has called it is about to
  --state_->waking;
  return true;
}

/// With the lock held, before and after.
void StatementPool::PoolThread::serve(std::unique_ptr<SlowJob> job, std::unique_lock<std::mutex> &lock) {
  State &state = *state_;
  const bool login = is_login(*job);
  if (login) ++state.logins_running;
  link(job->connection->hosted());
  lock.unlock();
  const bool alive = serve_next(*job, nullptr);
  const bool failed = alive && job->connection->hosted()->learnt().failed;
  lock.lock();
  unlink();
  if (login) --state.logins_running;
  state.counters.add(Counter::bytes_received, job->by_server.received);
  state.counters.add(Counter::bytes_sent, job->by_server.sent);
  state.counters.add(!login ? Counter::statements_served : alive ? Counter::logins : Counter::logins_failed);
  if (!login && failed) state.counters.add(Counter::requests_failed);
  const bool is_orphan = orphaned;
  lock.unlock();
  if (!alive || is_orphan) job->connection->die();
  if (is_orphan) {
    job->work.reset();
    end_session(*job->connection);
    job.reset();
  } else {
    send_home(std::move(job));
  }
  lock.lock();
}

StatementPool::StatementPool(std::string name) : state_(std::make_shared<State>(std::move(name))) {}

StatementPool::~StatementPool() {
  stop();
}

void StatementPool::submit(std::unique_ptr<SlowJob> job) {
  if (state_->queue(job, state_)) return;
  static log::Limited limited;
  if (uint64_t missed; limited.pass(missed)) log::error("%s: no thread to serve a statement", state_->name.c_str());
  job->connection->die();
  send_home(std::move(job));
}

void StatementPool::end(std::unique_ptr<Connection> connection) {
  State &state = *state_;
  {
    std::unique_lock lock(state.mutex);
    if (!state.stopped) {
      ++state.endings_waiting;
      if (state.has_threads_enough(state_)) {
        state.endings.add(std::move(connection));
        const std::shared_ptr<Bell> called = state.call_one();
        lock.unlock();
        if (called != nullptr) called->ring();
        return;
      }
      --state.endings_waiting;
    }
  }
  end_session(*connection);  // here, because no thread could be started
}

void StatementPool::stop() {
  State &state = *state_;
  PoolThread *const own = PoolThread::current(&state);
  std::unique_lock lock(state.mutex);
  state.stopped = true;
  if (own != nullptr) own->orphan();
  for (JobQueue *const queue : {&state.statements, &state.logins}) {
    while (std::unique_ptr<SlowJob> job = queue->pop_front()) {
      job->work.reset();
      job->connection->die();
      state.endings.add(std::move(job->connection));
      ++state.endings_waiting;
    }
  }
  for (PoolThread *thread = state.serving; thread != nullptr; thread = thread->behind)
    if (thread != own) thread->session->interrupt();
  while (std::unique_ptr<Connection> ending = state.endings.next()) {
    --state.endings_waiting;
    lock.unlock();
    end_session(*ending);
    ending.reset();
    lock.lock();
  }
  while (const auto called = state.call_one()) called->ring();
  state.left.wait(lock, [&] { return state.threads <= state.orphans; });
  const std::optional<pthread_t> last = std::exchange(state.left_last, std::nullopt);
  lock.unlock();
  if (last) pthread_join(*last, nullptr);
}

void StatementPool::spare_caller() {
  PoolThread *const own = PoolThread::current(state_.get());
  if (own == nullptr) return;
  const std::lock_guard guard(state_->mutex);
  own->orphan();
  state_->left.notify_all();
}

void StatementPool::add_counters(Counters &sum) const {
  const std::lock_guard guard(state_->mutex);
  sum.absorb(state_->counters);
}

}  // namespace postern::door
