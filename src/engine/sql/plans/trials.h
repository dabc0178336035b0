// trials.h: Trials, which decides whether trying a plan pays: statements that workers begin in vain cost more than they
// save.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace postern::sql {

/// Any thread. Lock-free; threads may lose each other's notes. Successes write nothing until a trial is in vain.
class Trials {
 public:
  /// The plan pauses once costs exceed successes by so much.
  static constexpr int32_t cost_max = 256;
  /// The cost of a trial after which the server has to answer: the plan pauses after eight.
  static constexpr int32_t cost_usual = cost_max / 8;
  /// The first pause; each further one is twice as long.
  static constexpr int64_t rest_ms_first = 2'000;
  static constexpr int64_t rest_ms_max = 300'000;
  /// One statement in so many is tried during a pause.
  static constexpr uint32_t looks_one_in = 16;

  /// Adds the cost of a trial in vain; a success has a negative cost.
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
  /// Whether the plan pauses.
  bool rest() const {
    const int64_t until_ms = until_ms_.load(std::memory_order_relaxed);
    return until_ms != 0 && clock_ms() < until_ms;
  }
  bool looks() { return looked_.fetch_add(1, std::memory_order_relaxed) % looks_one_in == 0; }
  /// Forgets all trials, because conditions have changed.
  void begin_anew() {
    cost_.store(0, std::memory_order_relaxed);
    rest_ms_.store(0, std::memory_order_relaxed);
    until_ms_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<int32_t> cost_{0};
  std::atomic<int64_t> rest_ms_{0};
  std::atomic<int64_t> until_ms_{0};  // by clock_ms(); 0: no pause
  std::atomic<uint32_t> looked_{0};
};

}  // namespace postern::sql
