// statistics.h: Statistics, what the protocol counts of its commands. The rows are in statistics.def.
//
// One for all sessions of a protocol. Each thread that counts has a shard of its own, which it alone writes; anybody
// may sum at any time. A command that is run again because its transaction was lost is counted again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "memcached/prefixes.h"

namespace postern::memcached {

enum class Statistic : uint8_t {
#define STATISTIC(name, sentence) name,
#include "memcached/statistics.def"
#undef STATISTIC
};
inline constexpr size_t statistic_count = 0
#define STATISTIC(name, sentence) +1
#include "memcached/statistics.def"
#undef STATISTIC
    ;

class Statistics {
 public:
  using Sums = std::array<uint64_t, statistic_count>;

  Statistics();
  ~Statistics();
  Statistics(const Statistics &) = delete;
  Statistics &operator=(const Statistics &) = delete;

  template <class... More>
  void add(Statistic statistic, More... more) {
    std::array<std::atomic<uint64_t>, statistic_count> &counts = shard();
    add(counts[static_cast<size_t>(statistic)]);
    (add(counts[static_cast<size_t>(more)]), ...);
  }

  Sums sum() const;
  /// From here on sum() tells what was counted since. The prefixes are forgotten.
  void reset();

  Prefixes &prefixes() { return prefixes_; }
  const Prefixes &prefixes() const { return prefixes_; }

 private:
  struct alignas(64) Shard {
    std::array<std::atomic<uint64_t>, statistic_count> counts{};
  };

  static void add(std::atomic<uint64_t> &count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::array<std::atomic<uint64_t>, statistic_count> &shard();
  Shard &make_shard();
  Sums total() const;

  const uint64_t serial_;     // tells this object from one that was where it is
  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::vector<std::unique_ptr<Shard>> shards_;
  Sums forgotten_{};  // at the last reset
  Prefixes prefixes_;
};

}  // namespace postern::memcached
