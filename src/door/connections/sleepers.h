// sleepers.h: Sleeper, a connection with a session that may sleep, and Sleepers, those of a worker that have been woken
// or called.
//
// A worker has one Sleepers. Its thread lays sleepers down and takes them out; any thread wakes and calls them. A wake
// that comes while the session works is kept until it sleeps, a call until its requests are answered. Allocates
// nothing.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "contract/session.h"
#include "door/connections/put_off.h"
#include "net/poller.h"

namespace postern::door {

class Connection;
class Sleepers;

/// Owned by a connection with a session that may sleep.
class Sleeper final : public Waker {
 public:
  Sleeper(Sleepers &home, Connection &its_connection) : connection(its_connection), home_(home) {}
  Sleeper(const Sleeper &) = delete;
  Sleeper &operator=(const Sleeper &) = delete;

  void wake() noexcept final;
  void call() noexcept final;

  // The worker's thread.

  /// Whether its session has something to deliver.
  bool is_called() const { return more_ || called_.load(std::memory_order_relaxed); }
  /// Called before the session delivers: later calls count as new.
  void take_call() {
    called_.exchange(false);
    more_ = false;
  }
  /// Notes that more is to be delivered: the connection gets a turn for it without another call.
  void keep_call() { more_ = true; }

  Connection &connection;
  std::unique_ptr<PutOff> put_off;  ///< the connection's requests: see Aside

 private:
  friend Sleepers;

  Sleepers &home_;
  std::atomic<bool> called_{false};
  bool more_ = false;
  // Under the mutex of `home_`.
  Sleeper *next_ = nullptr;
  bool listed_ = false;
  bool at_home_ = false;
  bool lies_ = false;
  bool woken_ = false;
};

/// The sleeper of a connection, if its session may sleep, and its requests that were put off. Most connections have
/// neither.
class Aside {
 public:
  Aside() : put_off_(nullptr) {}
  Aside(const Aside &) = delete;
  Aside &operator=(const Aside &) = delete;
  ~Aside() {
    if (has_sleeper_) delete sleeper_;
    else std::destroy_at(&put_off_);
  }

  /// Called once, with nothing put off.
  void become(std::unique_ptr<Sleeper> sleeper) {
    sleeper_ = sleeper.release();
    has_sleeper_ = true;
  }
  Sleeper *sleeper() const { return has_sleeper_ ? sleeper_ : nullptr; }

  bool has_put_off() const { return has_put_off_; }
  /// Requires has_put_off().
  PutOff &put_off() { return *place(); }
  void put(std::unique_ptr<PutOff> put_off) {
    place() = std::move(put_off);
    has_put_off_ = place() != nullptr;
  }
  /// nullptr: nothing was put off.
  std::unique_ptr<PutOff> take() {
    has_put_off_ = false;
    return std::move(place());
  }

 private:
  std::unique_ptr<PutOff> &place() { return has_sleeper_ ? sleeper_->put_off : put_off_; }

  union {
    std::unique_ptr<PutOff> put_off_;
    Sleeper *sleeper_;
  };
  // Each has a byte of its own: a worker may ask for the sleeper of a connection that another thread has.
  bool has_sleeper_ = false;
  bool has_put_off_ = false;
};

class Sleepers {
 public:
  /// `doorbell` wakes the worker, and outlives this.
  explicit Sleepers(const net::WakeFd &doorbell) : doorbell_(doorbell) {}

  /// Its connection belongs to the worker again. Earlier calls come up now.
  void bring_home(Sleeper &sleeper) {
    const std::lock_guard guard(mutex_);
    sleeper.at_home_ = true;
  }
  /// Its connection is about to move to another thread, or to be closed: it does not come up here any more.
  void send_away(Sleeper &sleeper) {
    const std::lock_guard guard(mutex_);
    remove(sleeper);
    sleeper.at_home_ = sleeper.lies_ = false;
  }

  /// False: it was woken meanwhile, and does not sleep.
  [[nodiscard]] bool lay_down(Sleeper &sleeper) {
    const std::lock_guard guard(mutex_);
    if (std::exchange(sleeper.woken_, false)) return false;
    sleeper.lies_ = true;
    return true;
  }
  /// It sleeps no more, whether it was woken or not.
  void take_out(Sleeper &sleeper) {
    const std::lock_guard guard(mutex_);
    sleeper.lies_ = sleeper.woken_ = false;
  }
  /// Takes the sleeper that was woken or called first; nullptr: none. `woken`: it sleeps no more.
  Sleeper *next(bool &woken) {
    const std::lock_guard guard(mutex_);
    Sleeper *const next = first_;
    if (next == nullptr) return nullptr;
    remove(*next);
    woken = next->lies_ && next->woken_;
    if (woken) next->lies_ = next->woken_ = false;
    return next;
  }

 private:
  friend Sleeper;

  void wake(Sleeper &sleeper) noexcept {
    const std::lock_guard guard(mutex_);
    if (!std::exchange(sleeper.woken_, true) && sleeper.lies_) add(sleeper);
  }
  void call(Sleeper &sleeper) noexcept {
    const std::lock_guard guard(mutex_);
    if (sleeper.at_home_) add(sleeper);
  }
  /// The worker takes all of them, so one ring is enough.
  void add(Sleeper &sleeper) noexcept {
    if (std::exchange(sleeper.listed_, true)) return;
    const bool rings = first_ == nullptr;
    sleeper.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &sleeper;
    last_ = &sleeper;
    if (rings) doorbell_.wake();
  }
  void remove(Sleeper &sleeper) {
    if (!std::exchange(sleeper.listed_, false)) return;
    Sleeper *before = nullptr;
    for (Sleeper *one = first_; one != &sleeper; one = one->next_) before = one;
    (before != nullptr ? before->next_ : first_) = sleeper.next_;
    if (last_ == &sleeper) last_ = before;
  }

  const net::WakeFd &doorbell_;
  std::mutex mutex_;          // a leaf
  Sleeper *first_ = nullptr;  // woken or called ones, in that order
  Sleeper *last_ = nullptr;
};

inline void Sleeper::wake() noexcept {
  home_.wake(*this);
}

inline void Sleeper::call() noexcept {
  if (!called_.exchange(true)) home_.call(*this);
}

}  // namespace postern::door
