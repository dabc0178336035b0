// sleepers.h: Sleeper, a connection whose session may sleep, and Sleepers, those of a worker that have been woken.
//
// A worker has one Sleepers. Its thread lays sleepers down and takes them out; any thread wakes them. A wake that comes
// while the session is at work is kept until it lies down. This needs no memory.
#pragma once

#include <mutex>
#include <utility>

#include "contract/session.h"
#include "net/poller.h"

namespace postern::door {

class Connection;
class Sleepers;

/// Owned by its connection, whose session may sleep.
class Sleeper final : public Waker {
 public:
  Sleeper(Sleepers &home, Connection &its_connection) : connection(its_connection), home_(home) {}
  Sleeper(const Sleeper &) = delete;
  Sleeper &operator=(const Sleeper &) = delete;

  void wake() noexcept final;

  Connection &connection;

 private:
  friend Sleepers;

  Sleepers &home_;
  // Under the mutex of `home_`.
  Sleeper *next_ = nullptr;
  bool lies_ = false;
  bool woken_ = false;
};

class Sleepers {
 public:
  /// `doorbell` outlives it: it wakes the worker.
  explicit Sleepers(const net::WakeFd &doorbell) : doorbell_(doorbell) {}

  /// False: it has been woken meanwhile, and does not sleep.
  [[nodiscard]] bool lay_down(Sleeper &sleeper) {
    const std::lock_guard guard(mutex_);
    if (std::exchange(sleeper.woken_, false)) return false;
    sleeper.lies_ = true;
    return true;
  }
  /// It sleeps no more, whether it was woken or not.
  void take_out(Sleeper &sleeper) {
    const std::lock_guard guard(mutex_);
    if (sleeper.lies_ && sleeper.woken_) unlink(sleeper);
    sleeper.lies_ = sleeper.woken_ = false;
  }
  /// Takes out the one that was woken first; nullptr: there is none.
  Sleeper *next_woken() {
    const std::lock_guard guard(mutex_);
    Sleeper *const woken = first_;
    if (woken == nullptr) return nullptr;
    unlink(*woken);
    woken->lies_ = woken->woken_ = false;
    return woken;
  }

 private:
  friend Sleeper;

  void wake(Sleeper &sleeper) noexcept {
    {
      const std::lock_guard guard(mutex_);
      if (std::exchange(sleeper.woken_, true) || !sleeper.lies_) return;
      sleeper.next_ = nullptr;
      (last_ != nullptr ? last_->next_ : first_) = &sleeper;
      last_ = &sleeper;
    }
    doorbell_.wake();
  }
  void unlink(Sleeper &sleeper) {
    Sleeper *before = nullptr;
    for (Sleeper *one = first_; one != &sleeper; one = one->next_) before = one;
    (before != nullptr ? before->next_ : first_) = sleeper.next_;
    if (last_ == &sleeper) last_ = before;
  }

  const net::WakeFd &doorbell_;
  std::mutex mutex_;          // a leaf
  Sleeper *first_ = nullptr;  // woken ones, in that order
  Sleeper *last_ = nullptr;
};

inline void Sleeper::wake() noexcept {
  home_.wake(*this);
}

}  // namespace postern::door
