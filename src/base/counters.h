// counters.h: what Postern counts. The rows are in counters.def and failure.def.
//
// Each worker owns one Counters and is the only one to write it; anybody may read it at any time. Writes are a
// plain load and store (relaxed, one writer), never a locked instruction; a shard fills whole cache lines of its
// own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/failure.h"

namespace postern {

enum class Counter : uint8_t {
#define COUNTER(name, sentence) name,
#include "base/counters.def"
#undef COUNTER
};

inline constexpr size_t counter_count = 0
#define COUNTER(name, sentence) +1
#include "base/counters.def"
#undef COUNTER
    ;

class alignas(64) Counters {
 public:
  void add(Counter counter, uint64_t amount = 1) { bump(counts_[static_cast<size_t>(counter)], amount); }
  void add(Failure failure) { bump(failures_[static_cast<size_t>(failure)], 1); }

  uint64_t get(Counter counter) const { return counts_[static_cast<size_t>(counter)].load(std::memory_order_relaxed); }
  uint64_t get(Failure failure) const {
    return failures_[static_cast<size_t>(failure)].load(std::memory_order_relaxed);
  }

  /// Adds `other` to this shard: keeps the sums of workers that ended. The caller writes this shard.
  void absorb(const Counters &other) {
    for (size_t i = 0; i < counter_count; ++i) bump(counts_[i], other.counts_[i].load(std::memory_order_relaxed));
    for (size_t i = 0; i < failure_count; ++i) bump(failures_[i], other.failures_[i].load(std::memory_order_relaxed));
  }

 private:
  static void bump(std::atomic<uint64_t> &count, uint64_t amount) {
    count.store(count.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> counts_[counter_count] = {};
  std::atomic<uint64_t> failures_[failure_count] = {};
};

}  // namespace postern
