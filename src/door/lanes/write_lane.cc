#include "door/lanes/write_lane.h"

#include <utility>

namespace postern::door {

WriteLane::WriteLane(const Options &options, Engine &engine, std::function<void()> ready) : ready_(std::move(ready)) {
  for (uint32_t i = 1; i <= options.committers; ++i)
    committers_.push_back(std::make_unique<Committer>(*this, engine, options.name + " commit " + std::to_string(i)));
}

WriteLane::~WriteLane() {
  stop();
}

bool WriteLane::start() {
  bool started = true;
  for (const auto &committer : committers_) started = started && committer->start();
  return started;
}

void WriteLane::stop() {
  stop_.store(true, std::memory_order_release);
  for (const auto &committer : committers_) committer->wake();
  for (const auto &committer : committers_) committer->join();
}

void WriteLane::open() {
  if (!open_.exchange(true, std::memory_order_relaxed)) ready_();
}

void WriteLane::close(Committer &leaving) {
  open_.store(false, std::memory_order_relaxed);
  WriteJobs left = [&] {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    if (first_ == &leaving) first_ = nullptr;
    for (Committer **one = &resting_; *one != nullptr; one = &(*one)->rests_behind) {
      if (*one != &leaving) continue;
      *one = leaving.rests_behind;
      break;
    }
    writers_waiting_ = 0;
    return std::move(waiting_);
  }();
  while (std::unique_ptr<WriteJob> job = left.next()) {
    job->refused = true;
    Home *const home = job->home;
    home->return_writes(std::move(job));
  }
}

void WriteLane::give_up(Committer &missing) {
  {
    const std::lock_guard guard(mutex_);
    if (++missing_ != committers_.size()) return;
  }
  close(missing);
}

bool WriteLane::submit(std::unique_ptr<WriteJob> &job) {
  Committer *woken = nullptr;
  {
    const std::lock_guard guard(mutex_);
    if (closed_) return false;
    writers_waiting_ += job->clients().size();
    waiting_.add(std::move(job));
    if (first_ == nullptr && resting_ != nullptr && (runs_ == 0 || overlaps())) {
      first_ = std::exchange(resting_, resting_->rests_behind);
      first_->rests = false;
    }
    woken = first_;
  }
  if (woken != nullptr) woken->wake();
  return true;
}

bool WriteLane::comes_first(Committer &one) {
  const std::lock_guard guard(mutex_);
  if (one.rests) return false;
  if (first_ == nullptr && (runs_ == 0 || overlaps())) first_ = &one;
  if (first_ == &one) return true;
  one.rests = true;
  one.rests_behind = std::exchange(resting_, &one);
  return false;
}

size_t WriteLane::writers_waiting() {
  const std::lock_guard guard(mutex_);
  return writers_waiting_;
}

WriteLane::Taken WriteLane::take() {
  const std::lock_guard guard(mutex_);
  Taken taken{.jobs = std::move(waiting_), .writers = std::exchange(writers_waiting_, 0)};
  if (taken.jobs.empty()) return taken;
  ++runs_;
  first_ = nullptr;
  return taken;
}

void WriteLane::done(bool left_rows) {
  const std::lock_guard guard(mutex_);
  --runs_;
  if (left_rows) runs_apart_ = runs_apart;
  else if (runs_apart_ != 0) --runs_apart_;
}

void WriteLane::add_counters(Counters &sum) const {
  for (const auto &committer : committers_) sum.absorb(committer->counters());
}

void WriteLane::add_latencies(Latencies &sum) const {
  for (const auto &committer : committers_) committer->add_latencies(sum);
}

}  // namespace postern::door
