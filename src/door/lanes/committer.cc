#include "door/lanes/committer.h"

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
#include "door/lanes/write_lane.h"

namespace postern::door {
namespace {

/// Milliseconds after its last run when it forgets resolved names and leaves the process list. Its tables are closed
/// already, so that costs others nothing, and each end of this time is one more wake: writes of a page, some
/// milliseconds apart, should not have one each.
constexpr int linger_ms = 200;

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

Committer::Committer(WriteLane &lane, Engine &engine, std::string name)
    : lane_(lane), engine_(engine), name_(std::move(name)), works_text_(name_ + ": for many clients") {}

bool Committer::start() {
  if (!poller_ || !poller_.add(wake_.fd(), net::Poller::readable, nullptr)) return false;
  return thread_.start([](void *self) { static_cast<Committer *>(self)->work(); }, this, name_);
}

void Committer::work() {
  ::prctl(PR_SET_TIMERSLACK, 1'000);  // as for workers that write, for await_writers()
  const ThreadIdentity who{
      .access = Access::write, .name = name_.c_str(), .wake_fd = wake_.fd(), .counters = &counters_};
  try {
    executor_ = engine_.attach(who, lane_.stop_flag());
  } catch (const std::bad_alloc &) {
    log::error("%s: out of memory", name_.c_str());
  }
  if (executor_ != nullptr) {
    executor_->hide();
    lane_.open();
    while (!lane_.stopped() && !executor_->server_stopping()) turn();
    executor_->idle();
    lane_.close(*this);
  } else {
    lane_.give_up(*this);
  }
  executor_.reset();
  pool::drain();
}

void Committer::turn() {
  if (!lane_.comes_first(*this) || lane_.writers_waiting() == 0) return rest();
  await_writers();
  run();
}

/// Until it is woken.
void Committer::rest() {
  std::array<epoll_event, 1> events;
  size_t count = poller_.wait(events, linger_ms);
  if (count == 0) {
    executor_->idle();
    describe(false);
    count = poller_.wait(events, -1);
  }
  if (count != 0) wake_.drain();
}

/// Waits for the clients answered last, which may write again soon. Otherwise one half of the clients would wait for
/// the other half's commit.
void Committer::await_writers() {
  size_t back = lane_.writers_waiting();
  if (!commit_delay_.begin(back, true)) return;
  std::array<epoll_event, 1> events;
  while (back < commit_delay_.writers() && commit_delay_.wait(poller_, events) != 0) {
    wake_.drain();
    back = lane_.writers_waiting();
  }
  commit_delay_.end(back);
}

void Committer::describe(bool working) {
  if (working == described_working_) return;
  described_working_ = working;
  if (working) executor_->describe(works_text_);
  else executor_->hide();
}

void Committer::run() {
  WriteLane::Taken taken = lane_.take();
  if (taken.jobs.empty()) return;
  int64_t began_us = INT64_MAX;
  for (WriteJob *job = taken.jobs.first(); job != nullptr; job = job->behind)
    began_us = std::min(began_us, job->began_us);
  clock_.begin(began_us);
  describe(true);
  const uint64_t left = counters_.get(Counter::row_lock_yields);
  Sleep sleep;
  sleep.begin();
  run_all(taken.jobs);
  flush(taken.jobs);
  const int64_t slept_us = sleep.end();
  lane_.note_run(slept_us);
  commit_delay_.note_run(taken.writers, slept_us);
  clock_.end(counters_);
  lane_.done(counters_.get(Counter::row_lock_yields) != left);
  while (std::unique_ptr<WriteJob> job = taken.jobs.next()) {
    Home *const home = job->home;
    home->return_writes(std::move(job));
  }
}

/// Runs all jobs in one run if they fit, otherwise one by one.
void Committer::run_all(const WriteJobs &jobs) {
  const bool several = jobs.first()->behind != nullptr;
  try {
    if (several && join_jobs(jobs)) {
      if (!joint_.empty()) joint_.run(*executor_, joint_.slices(), nullptr, counters_);
      auto slice = joint_.slices().begin();
      for (WriteJob *job = jobs.first(); job != nullptr; job = job->behind)
        for (const Turn::Slice &its : job->writers()) job->take_progress(its, joint_.ops_of(*slice++));
      joint_.clear();
      return;
    }
  } catch (const std::bad_alloc &) {
    joint_.clear();  // nothing was run
  }
  for (WriteJob *job = jobs.first(); job != nullptr; job = job->behind) {
    if (job->writers().empty()) continue;
    try {
      job->run(*executor_, job->writers(), nullptr, counters_);
    } catch (const std::bad_alloc &) {
      lose(*job);
    }
  }
}

/// Flushes if a client waits for it. If the run has committed, everything before is on disk already and there is
/// nothing to wait for.
void Committer::flush(const WriteJobs &jobs) {
  bool flushed = false;
  for (WriteJob *job = jobs.first(); job != nullptr; job = job->behind) {
    if (job->unflushed == 0) continue;
    if (!flushed && !engine_.flush()) job->refused = true;
    else flushed = true;
  }
}

/// Without memory to run it, the slow lane does the rest.
void Committer::lose(WriteJob &job) {
  for (const Turn::Slice &slice : job.writers())
    for (Op &op : job.ops_of(slice)) op.progress = Progress::waiting;
}

/// False if they are too many for one run.
bool Committer::join_jobs(const WriteJobs &jobs) {
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
