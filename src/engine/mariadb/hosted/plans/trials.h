// trials.h: Trials, whether it pays to try a plan: workers that begin statements in vain, again and again, cost more
// than they save.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace postern::mariadb {

/// Any thread; none waits. Successes write nothing as long as nothing was in vain.
class Trials {
 public:
  /// So many more in vain than twice the successes, and the plan rests.
  static constexpr int32_t in_vain_max = 8;
  /// For so long the first time, then twice as long each time.
  static constexpr int64_t rest_ms_first = 2'000;
  static constexpr int64_t rest_ms_max = 300'000;
  /// One statement in so many is looked at meanwhile.
  static constexpr uint32_t looks_one_in = 16;

  void note(bool in_vain, bool succeeded) {
    const int32_t before = in_vain_.load(std::memory_order_relaxed);
    if (succeeded && before > 0) {
      in_vain_.store(std::max(before - 2, 0), std::memory_order_relaxed);
      if (before <= 2) until_ms_.store(0, std::memory_order_relaxed);
    }
    if (!in_vain || in_vain_.fetch_add(1, std::memory_order_relaxed) + 1 < in_vain_max) return;
    const int64_t last_ms = rest_ms_.load(std::memory_order_relaxed);
    const int64_t next_ms = last_ms == 0 ? rest_ms_first : std::min(last_ms * 2, rest_ms_max);
    rest_ms_.store(next_ms, std::memory_order_relaxed);
    until_ms_.store(clock_ms() + next_ms, std::memory_order_relaxed);
    in_vain_.store(in_vain_max - 2, std::memory_order_relaxed);  // two more in vain are enough the next time
  }
  /// Whether it rests.
  bool rest() const {
    const int64_t until_ms = until_ms_.load(std::memory_order_relaxed);
    return until_ms != 0 && clock_ms() < until_ms;
  }
  bool looks() { return looked_.fetch_add(1, std::memory_order_relaxed) % looks_one_in == 0; }
  /// Everything is different now.
  void begin_anew() {
    in_vain_.store(0, std::memory_order_relaxed);
    rest_ms_.store(0, std::memory_order_relaxed);
    until_ms_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<int32_t> in_vain_{0};
  std::atomic<int64_t> rest_ms_{0};
  std::atomic<int64_t> until_ms_{0};  // by clock_ms(); 0: no rest that matters
  std::atomic<uint32_t> looked_{0};
};

}  // namespace postern::mariadb
