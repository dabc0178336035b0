#include "engine/mysql/server.h"

#include "engine/mysql/row_wait.h"

#include "base/limits.h"
#include "engine/mysql/interruption.h"

namespace postern::mysqld {
namespace {

/// A write that takes longer has waited.
constexpr int64_t waits_from_us = 1000;

}  // namespace

void RowWait::allow(int64_t ms) {
  left_us_ = ms * 1000;
  if (!watching_) return watch_.expect_writes();
  began_us_ = WriteLimit::now_us();
  limit_.set(began_us_ + left_us_);
}

void RowWait::watch(bool on) {
  if (watching_ == on) return;
  watching_ = on;
  const int64_t now = WriteLimit::now_us();
  if (on) {
    began_us_ = now;
    // The budget may be used up, but most writes do not wait: each gets a little time.
    limit_.set(now + std::max(left_us_, waits_from_us));
    return;
  }
  limit_.set(0);
  if (const int64_t took_us = now - began_us_; took_us > waits_from_us) left_us_ -= took_us;
}

bool RowWait::take_expired() {
  if (!limit_.take_expired()) return false;
  ++waits_;
  // The lock may have been granted at the last moment; then the interruption has had no effect, and must have none.
  end_timeout(thd_);
  return true;
}

}  // namespace postern::mysqld
