#include "door/lanes/siblings.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "base/deadline.h"
#include "door/lanes/crew_limits.h"

namespace postern::door {
namespace {

/// Siblings that a worker checks at a time, and how many of their pollers it polls: a server may have hundreds.
constexpr size_t looked_at_max = 32;
constexpr size_t asked_max = 4;
/// A sibling that has not run for so long is not starved by its clients' repeated requests.
constexpr int64_t asleep_us = 50'000;

}  // namespace

const int64_t Sibling::step_back_us = limits::step_back_us;

Siblings::Siblings(int64_t stepped_back_us_max) : stepped_back_us_max_(stepped_back_us_max) {}

Siblings &Siblings::of_process() {
  static Siblings *const siblings = new Siblings(limits::stepped_back_us_max);
  return *siblings;
}

void Siblings::add(Sibling &sibling) {
  const std::lock_guard guard(mutex_);
  all_.push_back(&sibling);
}

void Siblings::remove(Sibling &sibling) {
  {
    const std::lock_guard guard(mutex_);
    std::erase(all_, &sibling);
  }
  sibling.end_wait_of_others();
}

/// Whether it does not run, and may have events without another worker waiting for it.
bool Siblings::may_be_ready(const Sibling &one, const Sibling &self, int64_t now_us) const {
  if (&one == &self || one.waits_for_me_.load(std::memory_order_relaxed) != nullptr) return false;
  const Sibling::State state = one.state_.load(std::memory_order_acquire);
  return state == Sibling::State::called ||
         (state == Sibling::State::away && now_us - one.ran_us_.load(std::memory_order_relaxed) <= asleep_us);
}

/// Makes no system call. With the mutex held.
bool Siblings::any_may_be_ready(const Sibling &self, int64_t now_us) const {
  const size_t count = std::min(all_.size(), looked_at_max);
  for (size_t i = 1; i <= count; ++i)
    if (may_be_ready(*all_[(next_ + i) % all_.size()], self, now_us)) return true;
  return false;
}

/// A sibling that has events, does not run, and for which no worker waits; nullptr: none. With the mutex held.
Sibling *Siblings::find_ready(const Sibling &self, int64_t now_us) {
  size_t asked = 0;
  for (size_t i = std::min(all_.size(), looked_at_max); i != 0; --i) {
    next_ = (next_ + 1) % all_.size();
    Sibling &one = *all_[next_];
    if (!may_be_ready(one, self, now_us)) continue;
    if (one.state_.load(std::memory_order_acquire) == Sibling::State::called) return &one;
    if (++asked > asked_max) return nullptr;
    if (one.has_events()) return &one;
  }
  return nullptr;
}

Sibling::Sibling(Siblings &all, int poller_fd)
    : all_(all), poller_fd_(poller_fd), called_(std::make_shared<Semaphore>()) {
  all_.add(*this);
}

Sibling::~Sibling() {
  all_.remove(*this);
}

bool Sibling::has_events() const {
  pollfd asked{.fd = poller_fd_, .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;
}

/// The waiter may run at once in place of this thread, so it is woken without the mutex, which others try to lock.
void Sibling::wake_waiter() noexcept {
  std::shared_ptr<Semaphore> called;
  {
    const std::lock_guard guard(all_.mutex_);
    Sibling *const waiter = waits_for_me_.exchange(nullptr, std::memory_order_seq_cst);
    if (waiter == nullptr) return;
    waiter->state_.store(State::called, std::memory_order_seq_cst);
    called = waiter->called_;
  }
  sem_post(&called->semaphore);
}

void Sibling::step_back(int64_t now_us, bool goes_on) {
  looked_us_ = now_us;
  Sibling *ready = nullptr;
  {
    // Workers must not wait for each other here: one checking worker is enough.
    const std::unique_lock guard(all_.mutex_, std::try_to_lock);
    if (!guard || waits_for_me_.load(std::memory_order_relaxed) != nullptr) return;
    // First the check without system calls: a worker that alone has clients polls none then.
    if (!all_.any_may_be_ready(*this, now_us) || (!goes_on && !has_events())) return;
    ready = all_.find_ready(*this, now_us);
    if (ready == nullptr) return;
    state_.store(State::runs, std::memory_order_release);  // no worker waits for a waiting one
    ready->waits_for_me_.store(this, std::memory_order_seq_cst);
    // Its turn may have ended just before: then its events are gone.
    if (ready->state_.load(std::memory_order_seq_cst) == State::away && !ready->has_events()) {
      ready->waits_for_me_.store(nullptr, std::memory_order_relaxed);
      state_.store(State::away, std::memory_order_release);
      return;
    }
  }
  await_call();
  state_.store(State::away, std::memory_order_release);
}

/// Waits until the sibling's turn has ended, or for the longest wait.
void Sibling::await_call() {
  sem_t &called = called_->semaphore;
  const timespec until = deadline_after_us(all_.stepped_back_us_max_);
  int failed = 0;
  do {
    failed = sem_clockwait(&called, CLOCK_MONOTONIC, &until);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) return;
  {
    const std::lock_guard guard(all_.mutex_);
    for (Sibling *const one : all_.all_) {
      if (one->waits_for_me_.load(std::memory_order_relaxed) != this) continue;
      one->waits_for_me_.store(nullptr, std::memory_order_relaxed);
      return;
    }
  }
  // It is called at the last moment.
  while (sem_wait(&called) != 0 && errno == EINTR) {
  }
}

}  // namespace postern::door
