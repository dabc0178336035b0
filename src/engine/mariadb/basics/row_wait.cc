#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/row_wait.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "engine/mariadb/basics/failures.h"
#include "engine/mariadb/basics/interruption.h"

namespace postern::mariadb {
namespace {

constexpr int64_t look_us = 20'000;

// Set while this thread has a RowWait. The scheduler's calls come on the thread that waits.
thread_local RowWait *current = nullptr;

int64_t now_us() {
  return static_cast<int64_t>(my_hrtime().val);
}

}  // namespace

struct RowWait::Timer {
  thr_timer_t timer;
};

RowWait::RowWait(const std::atomic<bool> &stop) : stop_(stop), timer_(std::make_unique<Timer>()) {
  thr_timer_init(
      &timer_->timer, [](void *self) { static_cast<RowWait *>(self)->look(); }, this);
  current = this;
}

RowWait::~RowWait() {
  current = nullptr;
}

void RowWait::leave_thread() {
  current = nullptr;
}

void RowWait::enter_thread() {
  current = this;
}

bool RowWait::take_expired() {
  if (!expired_.load(std::memory_order_relaxed)) return false;
  expired_.store(false, std::memory_order_relaxed);
  // The lock may have been granted at the last moment; then the interruption has had no effect, and must have none.
  end_timeout(thd_);
  return true;
}

uint64_t RowWait::take_waits() {
  return std::exchange(waits_, 0);
}

void RowWait::on_begin(For what) {
  if (current != nullptr) current->begin(what);
}

void RowWait::on_end() {
  if (current != nullptr) current->end();
}

void RowWait::begin(For what) {
  if (!watching_ || running_ || thd_ == nullptr) return;
  ++waits_;
  // A write that has made changes that cannot be undone would fail if this is cut short, so it waits as long as if it
  // were alone.
  if (cannot_be_undone(thd_)) budget_.allow_at_least(limits::row_wait_slow_ms);
  last_ = what;
  const int64_t left_us = budget_.begin(now_us());
  if (left_us <= 0) return look();
  const int64_t first_us = std::min(left_us, look_us);
  thr_timer_set_period(&timer_->timer, static_cast<ulonglong>(first_us));
  running_ = thr_timer_settime(&timer_->timer, static_cast<ulonglong>(first_us)) == 0;
}

/// When this returns the timer does not run and will not.
void RowWait::end() {
  if (!running_) return;
  running_ = false;
  thr_timer_set_period(&timer_->timer, 0);
  thr_timer_end(&timer_->timer);
  budget_.end(now_us());
}

/// On the timer's thread, or on the waiting one.
void RowWait::look() {
  if (expired_.load(std::memory_order_relaxed)) return;
  if (!budget_.is_used_up(now_us()) && !stop_.load(std::memory_order_relaxed)) return;
  expired_.store(true, std::memory_order_relaxed);
  thd_->awake(KILL_TIMEOUT);
}

}  // namespace postern::mariadb
