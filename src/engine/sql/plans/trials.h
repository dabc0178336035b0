// trials.h: Trials, whether it pays to try a plan: workers that begin statements in vain, again and again, cost more
// than they save.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace postern::sql {

/// Any thread; none waits, and some may lose each other's notes. Successes write nothing until a trial is in vain.
class Trials {
 public:
  /// The plan rests once costs exceed successes by so much.
  static constexpr int32_t cost_max = 256;
  /// Where only the server can answer then: after eight the plan rests.
  static constexpr int32_t cost_usual = cost_max / 8;
  /// For so long the first time, then twice as long each time.
  static constexpr int64_t rest_ms_first = 2'000;
  static constexpr int64_t rest_ms_max = 300'000;
  /// One statement in so many is looked at meanwhile.
  static constexpr uint32_t looks_one_in = 16;

  /// Adds the cost of a trial in vain, or subtracts for a success, where `cost` is negative.
  void note(int32_t cost) {
    if (cost <= 0) {
      const int32_t before = cost == 0 ? 0 : cost_.load(std::memory_order_relaxed);
      if (before == 0) return;
      const int32_t after = std::max(before + cost, 0);
      cost_.store(after, std::memory_order_relaxed);
      if (after == 0) until_ms_.store(0, std::memory_order_relaxed);
      return;
    }
    if (cost_.fetch_add(cost, std::memory_order_relaxed) + cost < cost_max) return;
    const int64_t last_ms = rest_ms_.load(std::memory_order_relaxed);
    const int64_t next_ms = last_ms == 0 ? rest_ms_first : std::min(last_ms * 2, rest_ms_max);
    rest_ms_.store(next_ms, std::memory_order_relaxed);
    until_ms_.store(clock_ms() + next_ms, std::memory_order_relaxed);
    cost_.store(cost_max - 2 * cost_usual, std::memory_order_relaxed);  // a quarter of it is enough the next time
  }
  /// Whether it rests.
  bool rest() const {
    const int64_t until_ms = until_ms_.load(std::memory_order_relaxed);
    return until_ms != 0 && clock_ms() < until_ms;
  }
  bool looks() { return looked_.fetch_add(1, std::memory_order_relaxed) % looks_one_in == 0; }
  /// Everything is different now.
  void begin_anew() {
    cost_.store(0, std::memory_order_relaxed);
    rest_ms_.store(0, std::memory_order_relaxed);
    until_ms_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<int32_t> cost_{0};
  std::atomic<int64_t> rest_ms_{0};
  std::atomic<int64_t> until_ms_{0};  // by clock_ms(); 0: no rest that matters
  std::atomic<uint32_t> looked_{0};
};

}  // namespace postern::sql
