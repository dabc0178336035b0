#include "door/write_lane.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pool.h"
#include "door/worker.h"

namespace postern::door {
namespace {

int64_t voluntary_switches() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

}  // namespace

void Sleep::begin() {
  switches_ = voluntary_switches();
  off_processor_us_ = off_processor_us();
}

int64_t Sleep::end() const {
  if (voluntary_switches() == switches_) return 0;
  return std::max<int64_t>(off_processor_us() - off_processor_us_, 0);
}

WriteLane::WriteLane(const Options &options, Engine &engine)
    : engine_(engine),
      name_(options.name + " commit"),
      idle_text_(name_ + ": idle"),
      works_text_(name_ + ": for many clients") {}

WriteLane::~WriteLane() {
  stop();
}

bool WriteLane::start() {
  if (!poller_ || !poller_.add(wake_.fd(), net::Poller::readable, nullptr)) return false;
  return thread_.start([](void *self) { static_cast<WriteLane *>(self)->work(); }, this, name_);
}

void WriteLane::stop() {
  stop_.store(true, std::memory_order_release);
  wake_.wake();
  thread_.join();
}

void WriteLane::work() {
  ::prctl(PR_SET_TIMERSLACK, 1'000);  // as workers that write, for await_writers()
  const ThreadIdentity who{
      .access = Access::write, .name = name_.c_str(), .wake_fd = wake_.fd(), .counters = &counters_};
  try {
    executor_ = engine_.attach(who, stop_);
  } catch (const std::bad_alloc &) {
    log::error("%s: out of memory", name_.c_str());
  }
  if (executor_ != nullptr) {
    describe(false);
    {
      const std::lock_guard guard(mutex_);
      closed_ = false;
    }
    open_.store(true, std::memory_order_relaxed);
    while (!stop_.load(std::memory_order_acquire) && !executor_->server_stopping()) turn();
    executor_->idle();
  }
  close();
  executor_.reset();
  pool::drain();
}

/// Sends the jobs that are left home, and takes no more.
void WriteLane::close() {
  open_.store(false, std::memory_order_relaxed);
  WriteJobs left = [this] {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    return std::move(waiting_);
  }();
  while (std::unique_ptr<WriteJob> job = left.next()) {
    job->refused = true;
    Worker *const home = job->home;
    home->return_writes(std::move(job));
  }
}

bool WriteLane::submit(std::unique_ptr<WriteJob> &job) {
  {
    const std::lock_guard guard(mutex_);
    if (closed_) return false;
    writers_waiting_ += job->writers().size();
    waiting_.add(std::move(job));
  }
  wake_.wake();
  return true;
}

bool WriteLane::any_waiting() {
  const std::lock_guard guard(mutex_);
  return !waiting_.empty();
}

size_t WriteLane::writers_waiting() {
  const std::lock_guard guard(mutex_);
  return writers_waiting_;
}

WriteJobs WriteLane::take() {
  const std::lock_guard guard(mutex_);
  writers_waiting_ = 0;
  return std::move(waiting_);
}

void WriteLane::turn() {
  if (any_waiting()) {
    await_writers();
    return run(take());
  }
  std::array<epoll_event, 1> events;
  size_t count = poller_.wait(events, limits::linger_ms);
  if (count == 0) {
    executor_->idle();
    describe(false);
    count = poller_.wait(events, -1);
  }
  if (count != 0) wake_.drain();
}

/// Those who were answered last may be about to write again, or others in their place: their clients read, too. Else
/// half of them would wait for the commit of the other half.
void WriteLane::await_writers() {
  size_t back = writers_waiting();
  if (!commit_delay_.begin(back, true)) return;
  std::array<epoll_event, 1> events;
  while (back < commit_delay_.writers() && commit_delay_.wait(poller_, events) != 0) {
    wake_.drain();
    back = writers_waiting();
  }
  commit_delay_.end(back);
}

void WriteLane::describe(bool working) {
  if (working == described_working_) return;
  described_working_ = working;
  executor_->describe(working ? works_text_ : idle_text_);
}

void WriteLane::run(WriteJobs jobs) {
  int64_t began_us = INT64_MAX;
  size_t writers = 0;
  for (WriteJob *job = jobs.first(); job != nullptr; job = job->behind) {
    began_us = std::min(began_us, job->began_us);
    writers += job->writers().size();
  }
  clock_.begin(began_us);
  describe(true);
  Sleep sleep;
  sleep.begin();
  run_all(jobs);
  const int64_t slept_us = sleep.end();
  note_run(slept_us);
  commit_delay_.note_run(writers, slept_us);
  clock_.end(counters_);
  while (std::unique_ptr<WriteJob> job = jobs.next()) {
    Worker *const home = job->home;
    home->return_writes(std::move(job));
  }
}

/// All in one run if they fit into one, else one after the other.
void WriteLane::run_all(const WriteJobs &jobs) {
  const bool several = jobs.first()->behind != nullptr;
  try {
    if (several && join(jobs)) {
      joint_.run(*executor_, joint_.slices(), nullptr);
      auto slice = joint_.slices().begin();
      for (WriteJob *job = jobs.first(); job != nullptr; job = job->behind)
        for (const Turn::Slice &its : job->writers()) job->take_progress(its, joint_.ops_of(*slice++));
      joint_.clear();
      return;
    }
  } catch (const std::bad_alloc &) {
    joint_.clear();  // nothing has been run
  }
  for (WriteJob *job = jobs.first(); job != nullptr; job = job->behind) {
    try {
      job->run(*executor_, job->writers(), nullptr);
    } catch (const std::bad_alloc &) {
      lose(*job);
    }
  }
}

/// There is no memory to run it: the slow lane will do what is left.
void WriteLane::lose(WriteJob &job) {
  for (const Turn::Slice &slice : job.writers())
    for (Op &op : job.ops_of(slice)) op.progress = Progress::waiting;
}

/// False if they are too many for one run.
bool WriteLane::join(const WriteJobs &jobs) {
  joint_.clear();
  size_t ops = 0;
  for (WriteJob *job = jobs.first(); job != nullptr; job = job->behind)
    for (const Turn::Slice &slice : job->writers()) ops += slice.count;
  if (ops > limits::ops_per_batch_max) return false;
  for (WriteJob *job = jobs.first(); job != nullptr; job = job->behind)
    for (const Turn::Slice &slice : job->writers()) joint_.add_copy(*job, slice);
  return true;
}

}  // namespace postern::door
