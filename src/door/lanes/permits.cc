#include "door/lanes/permits.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "base/deadline.h"
#include "door/lanes/crew_limits.h"

namespace postern::door {
namespace {

int32_t available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace

Permits &Permits::of_process() {
  static Permits *const permits = new Permits(available_processors());
  return *permits;
}

Permits::Waiter::Waiter() {
  sem_init(&called, 0, 0);
}

Permits::Waiter::~Waiter() {
  sem_destroy(&called);
}

/// False: it took too long.
bool Permits::wait(Waiter &waiter) {
  {
    const std::lock_guard guard(mutex_);
    if (passed_on_ != 0) {
      --passed_on_;
      return true;
    }
    waiter.behind = nullptr;
    waiter.queued = true;
    (last_ != nullptr ? last_->behind : first_) = &waiter;
    last_ = &waiter;
  }
  const timespec until = deadline_after_us(limits::permit_wait_us);
  int failed = 0;
  do {
    failed = sem_clockwait(&waiter.called, CLOCK_MONOTONIC, &until);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) return true;
  if (leave_queue(waiter)) return false;
  // The semaphore is posted at the last moment.
  while (sem_wait(&waiter.called) != 0 && errno == EINTR) {
  }
  return true;
}

/// False: it was called, or as many calls are under way as workers wait.
bool Permits::leave_queue(Waiter &waiter) {
  const std::lock_guard guard(mutex_);
  if (!waiter.queued) return false;
  int32_t waiting = free_.load(std::memory_order_acquire);
  do {
    if (waiting >= 0) return false;
  } while (!free_.compare_exchange_weak(waiting, waiting + 1, std::memory_order_acq_rel));
  Waiter *before = nullptr;
  for (Waiter *one = first_; one != &waiter; one = one->behind) before = one;
  (before != nullptr ? before->behind : first_) = waiter.behind;
  if (last_ == &waiter) last_ = before;
  waiter.queued = false;
  return true;
}

/// Passes a permit to the worker that has waited longest, or is about to wait.
void Permits::pass_on() {
  const std::lock_guard guard(mutex_);
  if (first_ == nullptr) {
    ++passed_on_;
    return;
  }
  Waiter &called = *first_;
  first_ = called.behind;
  if (first_ == nullptr) last_ = nullptr;
  called.queued = false;
  // With the mutex held: a called waiter may be deleted once it has left the queue.
  sem_post(&called.called);
}

}  // namespace postern::door
