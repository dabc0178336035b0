#include "door/lanes/loop_watch.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "door/lanes/crew_limits.h"
#include "door/lanes/crew.h"

namespace postern::door {

void LoopWatch::look_after(Crew &crew, int poller_fd) {
  watched_.push_back({.crew = &crew, .poller_fd = poller_fd});
  polled_.reserve(watched_.size() + 2);
}

bool LoopWatch::start() {
  const std::lock_guard guard(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::asleep) return watches();
  timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const bool started = timer_ && wake_.fd() >= 0 &&
                       thread_.start([](void *self) { static_cast<LoopWatch *>(self)->work(); }, this, name_);
  state_.store(started ? State::watches : State::failed, std::memory_order_release);
  return started;
}

void LoopWatch::stop() {
  stop_.store(true, std::memory_order_release);
  wake_.wake();
  thread_.join();
}

void LoopWatch::set_timer(Look look) const {
  itimerspec once{};
  if (look != Look::none)
    once.it_value.tv_nsec = (look == Look::soon ? limits::lasting_look_us : limits::lone_look_us) * 1'000;
  ::timerfd_settime(timer_.get(), 0, &once, nullptr);
}

/// Notes when a late look is set. One that is set already is put off, unless another crew's statement waits for it.
void LoopWatch::put_off(const Crew &crew, int64_t now_us) {
  const auto is_anothers = [&](const Watched &one) { return one.crew != &crew && one.crew->serving() != nullptr; };
  const Look armed = armed_.load(std::memory_order_seq_cst);
  if (armed == Look::soon || (armed == Look::late && std::ranges::any_of(watched_, is_anothers))) return;
  late_us_.store(now_us, std::memory_order_relaxed);
  if (armed == Look::none) return;
  set_timer(Look::late);
  look_no_later();
}

bool LoopWatch::any_serves() const {
  return std::ranges::any_of(watched_, [](const Watched &one) { return one.crew->serving() != nullptr; });
}

/// Not where a statement is served: its look would be put off again and again.
void LoopWatch::disarm(Look armed) {
  if (any_serves() || !armed_.compare_exchange_strong(armed, Look::none, std::memory_order_seq_cst)) return;
  set_timer(Look::none);
  // Others may have armed it in between, and their timer is stopped as well; or they have begun before, and found it
  // armed.
  if (const Look again = armed_.load(std::memory_order_seq_cst); again != Look::none) return set_timer(again);
  if (any_serves()) arm(Look::soon);
}

void LoopWatch::work() {
  while (!stop_.load(std::memory_order_acquire)) {
    polled_.clear();
    polled_.push_back({.fd = wake_.fd(), .events = POLLIN, .revents = 0});
    polled_.push_back({.fd = timer_.get(), .events = POLLIN, .revents = 0});
    const size_t first = polled_.size();
    for (Watched &one : watched_) {
      one.lasts = one.lasts && still_lasts(one);
      if (one.lasts) polled_.push_back({.fd = one.poller_fd, .events = POLLIN, .revents = 0});
    }
    if (::poll(polled_.data(), polled_.size(), patience_ms()) < 0) continue;
    move_lasting(first);
    if (polled_[1].revents == 0) continue;
    uint64_t expirations = 0;
    if (::read(timer_.get(), &expirations, sizeof expirations) < 0) continue;
    // Done first: a statement that begins from now on arms the watch again, or is met here.
    armed_.store(Look::none, std::memory_order_seq_cst);
    if (look()) arm(Look::soon);
  }
}

bool LoopWatch::still_lasts(const Watched &one) {
  return one.crew->serving() != nullptr && one.crew->begun() == one.met;
}

/// Milliseconds until the first lasting statement has lasted too long; -1: none lasts.
int LoopWatch::patience_ms() const {
  int64_t until_us = INT64_MAX;
  for (const Watched &one : watched_)
    if (one.lasts) until_us = std::min(until_us, one.until_us);
  if (until_us == INT64_MAX) return -1;
  return static_cast<int>(std::max<int64_t>(until_us - clock_us(), 0) / 1'000) + 1;
}

/// Moves the loops with events in their pollers, and those of statements that have lasted too long. Their entries in
/// polled_ begin at `first`.
void LoopWatch::move_lasting(size_t first) {
  const int64_t now_us = clock_us();
  size_t at = first;
  for (Watched &one : watched_) {
    if (!one.lasts) continue;
    const bool needed = now_us >= one.until_us || polled_[at].revents != 0;
    ++at;
    if (!needed) continue;
    one.lasts = false;
    const Crew::Member *const serving = one.crew->serving();
    if (serving != nullptr && one.crew->begun() == one.met) one.crew->move(*serving);
  }
}

/// True: some statements have to be checked again.
bool LoopWatch::look() {
  bool again = false;
  for (Watched &one : watched_) {
    // The statement that lasted may have ended, and this may be the only check of its successor.
    one.lasts = one.lasts && still_lasts(one);
    const Crew::Member *const serving = one.crew->serving();
    if (serving == nullptr || one.lasts) continue;
    const uint64_t begun = one.crew->begun();
    if (begun != one.met) {
      one.met = begun;
      again = true;
    } else if (one.crew->others() == Crew::Others::wait) {
      one.crew->move(*serving);
    } else {
      one.lasts = true;
      one.until_us = clock_us() + int64_t{limits::lasting_ms_max} * 1'000;
    }
  }
  return again;
}

}  // namespace postern::door
