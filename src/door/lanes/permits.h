// permits.h: Permits, which lets as many workers run at a time as there are processors. The others wait in the order in
// which they ask, so that one worker's clients do not overtake another's again and again: a worker with clients that
// answer at once never sleeps, and the kernel would let it run on.
//
// The process has one. A worker holds a Permit during a turn, not while it sleeps or waits in the server, and goes
// without one after a long wait.
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

  /// As many permits as processors that this process may use. Lives forever.
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

  std::atomic<int32_t> free_;  // negative: so many workers wait, or are about to
  std::mutex mutex_;           // a leaf; guards the members below; taken when workers wait
  Waiter *first_ = nullptr;
  Waiter *last_ = nullptr;
  int32_t passed_on_ = 0;  // permits for workers that are about to wait
};

/// Owned by a worker; its thread alone touches it.
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
  /// Lets another worker run. Never waits for long.
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
