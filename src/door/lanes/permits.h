// permits.h: Permits, how many workers may run at a time: one a processor. Those beyond take turns, in the order in
// which they ask, so that the clients of one worker are not overtaken again and again by another's, as the kernel would
// have it: a worker with clients that answer at once never sleeps.
//
// One of these is the process'. A worker has a Permit for the length of a turn, not while it sleeps or waits in the
// server, and does without where it would have to wait for long.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace postern::door {

class Permits {
 public:
  explicit Permits(int32_t count) : free_(count) {}
  Permits(const Permits &) = delete;
  Permits &operator=(const Permits &) = delete;

  /// As many as this process may use processors. Lives forever.
  static Permits &of_process();

 private:
  friend class Permit;
  struct Waiter {
    Waiter();
    ~Waiter();
    sem_t called;
    Waiter *behind = nullptr;
    bool queued = false;
  };

  bool wait(Waiter &waiter);
  bool leave_queue(Waiter &waiter);
  void pass_on();

  std::atomic<int32_t> free_;  // less than 0: so many wait in vain, or are about to
  std::mutex mutex_;           // a leaf; guards what follows, taken where workers wait
  Waiter *first_ = nullptr;
  Waiter *last_ = nullptr;
  int32_t passed_on_ = 0;  // to those that are about to wait
};

/// A worker's; its thread alone touches it.
class Permit {
 public:
  /// `permits` outlives it; nullptr: none is needed.
  explicit Permit(Permits *permits) : permits_(permits) {}
  ~Permit() { give_back(); }
  Permit(const Permit &) = delete;
  Permit &operator=(const Permit &) = delete;

  /// Returns when it is this worker's turn, or after limits::permit_wait_us.
  void take() {
    if (permits_ == nullptr || has_) return;
    has_ = permits_->free_.fetch_sub(1, std::memory_order_acq_rel) > 0 || permits_->wait(waiter_);
  }
  /// Somebody else may run. Never waits for long.
  void give_back() noexcept {
    if (!has_) return;
    has_ = false;
    if (permits_->free_.fetch_add(1, std::memory_order_acq_rel) < 0) permits_->pass_on();
  }

 private:
  Permits *const permits_;
  bool has_ = false;
  Permits::Waiter waiter_;
};

}  // namespace postern::door
