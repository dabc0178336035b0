// histogram.h: latencies, or numbers, counted in buckets that are 1/32 of their power of two wide. A value; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace postern::bench {

class Histogram {
 public:
  void add(int64_t ns) {
    const auto value = static_cast<uint64_t>(std::max<int64_t>(ns, 0));
    ++buckets_[bucket_of(value)];
    ++count_;
    max_ns_ = std::max(max_ns_, value);
  }
  void clear() { *this = Histogram(); }

  uint64_t count() const { return count_; }
  uint64_t max_ns() const { return max_ns_; }
  /// The quantile `part` (0 to 1) of the values, at most 1/32 too high and never too low; 0 if there are none.
  uint64_t quantile_ns(double part) const {
    const auto wanted = std::max<uint64_t>(1, static_cast<uint64_t>(part * static_cast<double>(count_) + 0.5));
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= wanted) return std::min(last_of(i), max_ns_);
    }
    return 0;
  }

 private:
  static constexpr int sub_bits = 5;
  static constexpr uint64_t sub = uint64_t{1} << sub_bits;

  // Values below `sub` have a bucket each; each power of two above has `sub` buckets.
  static size_t bucket_of(uint64_t value) {
    if (value < sub) return value;
    const int shift = 63 - __builtin_clzll(value) - sub_bits;
    return static_cast<size_t>(shift + 1) * sub + (value >> shift) - sub;
  }
  static uint64_t last_of(size_t bucket) {
    if (bucket < sub) return bucket;
    const auto shift = bucket / sub - 1;
    return ((bucket % sub + sub + 1) << shift) - 1;
  }

  std::vector<uint64_t> buckets_ = std::vector<uint64_t>(60 * sub);
  uint64_t count_ = 0;
  uint64_t max_ns_ = 0;
};

}  // namespace postern::bench
