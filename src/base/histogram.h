// histogram.h: Histogram, a distribution of durations; Latencies, those of requests; RecentLatencies, those of a
// thread's requests in the last minutes.
//
// Like a Tally it has one writer, and any thread may read it; a write is a plain load and store (relaxed).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace postern {

/// Counts durations by their size: four buckets for each power of two of microseconds, so a percentile is right to
/// within a quarter. A duration above a minute counts as a minute.
class alignas(64) Histogram {
 public:
  void record(uint64_t microseconds, uint64_t amount) { bump(buckets_[bucket_of(microseconds)], amount); }

  /// Adds `other`. The caller is this one's writer.
  void absorb(const Histogram &other) {
    for (size_t i = 0; i < bucket_count; ++i) bump(buckets_[i], other.buckets_[i].load(std::memory_order_relaxed));
  }

  /// Forgets everything. The caller is its writer.
  void clear() {
    for (auto &bucket : buckets_) bucket.store(0, std::memory_order_relaxed);
  }

  /// The least number of microseconds in which this part of a thousand was done; 0 if nothing was recorded.
  uint64_t permille(uint64_t part) const {
    uint64_t total = 0;
    for (const auto &bucket : buckets_) total += bucket.load(std::memory_order_relaxed);
    const uint64_t wanted = std::max<uint64_t>((total * part + 999) / 1000, 1);
    uint64_t seen = 0;
    for (size_t i = 0; i < bucket_count && total != 0; ++i) {
      seen += buckets_[i].load(std::memory_order_relaxed);
      if (seen >= wanted) return end_of(i);
    }
    return 0;
  }

 private:
  static constexpr int powers = 26;
  static constexpr size_t bucket_count = size_t{4} * powers;

  static constexpr size_t bucket_of(uint64_t value) {
    if (value < 4) return value;
    const int power = std::bit_width(value) - 1;
    const size_t quarter = (value >> (power - 2)) & 3;
    return std::min(static_cast<size_t>(power - 1) * 4 + quarter, bucket_count - 1);
  }
  /// The largest value of a bucket.
  static constexpr uint64_t end_of(size_t bucket) {
    if (bucket < 4) return bucket;
    const size_t power = bucket / 4 + 1;
    return ((uint64_t{4} + bucket % 4 + 1) << (power - 2)) - 1;
  }
  static void bump(std::atomic<uint64_t> &number, uint64_t amount) {
    number.store(number.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> buckets_[bucket_count] = {};
};

/// Durations by kind of request, for requests answered within a turn.
struct Latencies {
  Histogram find;
  Histogram insert;
  Histogram edit;
  Histogram statement;

  void absorb(const Latencies &other) {
    find.absorb(other.find);
    insert.absorb(other.insert);
    edit.absorb(other.edit);
    statement.absorb(other.statement);
  }
  void clear() {
    find.clear();
    insert.clear();
    edit.clear();
    statement.clear();
  }
};

/// Latencies of this minute and the one before, so that a slow moment is not lost in a long history. Minutes are
/// counted from an arbitrary start.
class RecentLatencies {
 public:
  /// The histograms to record in. `minute`: the current one; it never goes back. For the writer.
  Latencies &of(int64_t minute) {
    Part &part = parts_[minute & 1];
    if (part.minute.load(std::memory_order_relaxed) != minute) {
      part.minute.store(never, std::memory_order_relaxed);
      part.latencies.clear();
      part.minute.store(minute, std::memory_order_release);
    }
    return part.latencies;
  }
  /// `minute`: the current one.
  void add_to(Latencies &sum, int64_t minute) const {
    for (const Part &part : parts_)
      if (part.minute.load(std::memory_order_acquire) >= minute - 1) sum.absorb(part.latencies);
  }

 private:
  static constexpr int64_t never = INT64_MIN;
  struct Part {
    std::atomic<int64_t> minute{never};
    Latencies latencies;
  };
  Part parts_[2];
};

}  // namespace postern
