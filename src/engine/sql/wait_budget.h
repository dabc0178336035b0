// wait_budget.h: WaitBudget, the time left for waits that share one bound.
//
// No thread may change it while another reads it. Times are of one clock that only goes up, in microseconds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace postern::sql {

class WaitBudget {
 public:
  /// Sets the budget of all further waits to `ms` milliseconds.
  void allow(int64_t ms) { left_us_ = ms * 1000; }
  /// The same, unless more is left.
  void allow_at_least(int64_t ms) { left_us_ = std::max(left_us_, ms * 1000); }

  /// Begins a wait and returns how long it may take; nothing is left if that is not positive.
  int64_t begin(int64_t now_us) {
    until_us_ = now_us + left_us_;
    return left_us_;
  }
  /// Whether the current wait has used up the rest of the budget.
  bool is_used_up(int64_t now_us) const { return now_us >= until_us_; }
  void end(int64_t now_us) { left_us_ = until_us_ - now_us; }

 private:
  int64_t left_us_ = 0;
  int64_t until_us_ = 0;
};

}  // namespace postern::sql
