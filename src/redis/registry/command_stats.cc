#include "redis/registry/command_stats.h"

#include <algorithm>

namespace postern::redis {

void CommandStats::add_to(std::vector<CommandFigures> &sum) const {
  for (size_t i = 0; i < rows_.size(); ++i) {
    sum[i].calls += rows_[i].calls.load(std::memory_order_relaxed);
    sum[i].usec += rows_[i].usec.load(std::memory_order_relaxed);
    sum[i].rejected += rows_[i].rejected.load(std::memory_order_relaxed);
    for (size_t time = 0; time < CommandFigures::times; ++time)
      sum[i].calls_by_time[time] += rows_[i].by_time[time].load(std::memory_order_relaxed);
  }
}

CommandStats &AllCommandStats::of_this_thread() {
  const std::thread::id own = std::this_thread::get_id();
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(threads_.begin(), threads_.end(), [&](const auto &one) { return one.first == own; });
  if (found != threads_.end()) return found->second;
  return threads_.emplace_back(std::piecewise_construct, std::forward_as_tuple(own), std::forward_as_tuple()).second;
}

std::vector<CommandFigures> AllCommandStats::sum() const {
  const std::lock_guard guard(mutex_);
  std::vector<CommandFigures> sum = sum_locked();
  for (size_t i = 0; i < forgotten_.size(); ++i) {
    sum[i].calls -= forgotten_[i].calls;
    sum[i].usec -= forgotten_[i].usec;
    sum[i].rejected -= forgotten_[i].rejected;
    for (size_t time = 0; time < CommandFigures::times; ++time)
      sum[i].calls_by_time[time] -= forgotten_[i].calls_by_time[time];
  }
  return sum;
}

void AllCommandStats::forget() {
  const std::lock_guard guard(mutex_);
  forgotten_ = sum_locked();
}

std::vector<CommandFigures> AllCommandStats::sum_locked() const {
  std::vector<CommandFigures> sum(commands().size());
  for (const auto &[thread, stats] : threads_) stats.add_to(sum);
  return sum;
}

void RunningCommands::begin_run(const Command &command) {
  if (run_.command != nullptr) before_.push_back(run_);
  run_ = {.command = &command};
}

void RunningCommands::end_all(uint64_t took, CommandStats &stats) {
  uint64_t all = run_.count;
  for (const Run &run : before_) all += run.count;
  for (const Run &run : before_) stats.note(*run.command, run.count, took * run.count / all);
  stats.note(*run_.command, run_.count, took * run_.count / all);
  run_ = {};
  constexpr size_t runs_kept_max = 4;
  if (before_.capacity() > runs_kept_max) std::vector<Run>().swap(before_);
  before_.clear();
}

}  // namespace postern::redis
