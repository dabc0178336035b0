// job_queue.h: JobQueue, a queue of jobs of the slow lane, first come, first served.
//
// Owns its jobs. Guarded by its owner. Allocates nothing, so no job is lost when memory runs out.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "door/lanes/slow_job.h"

namespace postern::door {

class JobQueue {
 public:
  JobQueue() = default;
  JobQueue(const JobQueue &) = delete;
  JobQueue &operator=(const JobQueue &) = delete;
  ~JobQueue() {
    while (pop_front() != nullptr) {
    }
  }

  bool empty() const { return first_ == nullptr; }
  size_t size() const { return size_; }

  void push_back(std::unique_ptr<SlowJob> job) {
    job->before = last_;
    job->behind = nullptr;
    SlowJob *const added = job.release();
    (last_ != nullptr ? last_->behind : first_) = added;
    last_ = added;
    ++size_;
  }
  void push_front(std::unique_ptr<SlowJob> job) {
    job->before = nullptr;
    job->behind = first_;
    SlowJob *const added = job.release();
    (first_ != nullptr ? first_->before : last_) = added;
    first_ = added;
    ++size_;
  }
  /// nullptr if there is none.
  std::unique_ptr<SlowJob> pop_front() { return first_ != nullptr ? remove(*first_) : nullptr; }
  std::unique_ptr<SlowJob> pop_back() { return last_ != nullptr ? remove(*last_) : nullptr; }
  /// Removes a job of this queue and returns it.
  std::unique_ptr<SlowJob> remove(SlowJob &job) {
    (job.before != nullptr ? job.before->behind : first_) = job.behind;
    (job.behind != nullptr ? job.behind->before : last_) = job.before;
    job.before = job.behind = nullptr;
    --size_;
    return std::unique_ptr<SlowJob>(&job);
  }

  /// Visits all jobs, in order; `visit` may remove its job.
  template <class Visit>
  void visit(Visit visit) const {
    for (SlowJob *job = first_; job != nullptr;) {
      SlowJob &visited = *job;
      job = job->behind;
      visit(visited);
    }
  }
  /// The first job for which `holds` is true, or nullptr.
  template <class Holds>
  SlowJob *find_if(Holds holds) const {
    for (SlowJob *job = first_; job != nullptr; job = job->behind)
      if (holds(*job)) return job;
    return nullptr;
  }
  template <class Holds>
  size_t count_if(Holds holds) const {
    size_t count = 0;
    visit([&](const SlowJob &job) { count += holds(job) ? 1 : 0; });
    return count;
  }

 private:
  SlowJob *first_ = nullptr;
  SlowJob *last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace postern::door
