// turn_clock.h: TurnClock, which measures how long a worker's requests take.
//
// A worker has one, and its thread alone calls it; add_latencies() is for any.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/counters.h"
#include "base/histogram.h"

namespace postern::door {

class TurnClock {
 public:
  /// Bytes have come. Returns the time in milliseconds.
  int64_t begin() {
    began_us_ = clock_us();
    return began_us_ / 1000;
  }
  /// The same for bytes that came at this time, in microseconds.
  void begin(int64_t began_us) { began_us_ = began_us; }
  /// All answers that could be sent are sent. The growth of the worker's `counters` is the number of requests answered.
  /// Reads the clock only in turns that answered any.
  void end(const Counters &counters) {
    const uint64_t finds = since(counters, Counter::requests_find, finds_);
    const uint64_t inserts = since(counters, Counter::requests_insert, inserts_);
    const uint64_t edits = since(counters, Counter::requests_edit, edits_);
    const uint64_t statements = since(counters, Counter::statements_fast, statements_);
    if ((finds | inserts | edits | statements) == 0) return;
    const int64_t now_us = clock_us();
    if (now_us >= minute_ends_us_) begin_minute(now_us);
    const auto took = static_cast<uint64_t>(now_us - began_us_);
    if (finds != 0) now_->find.record(took, finds);
    if (inserts != 0) now_->insert.record(took, inserts);
    if (edits != 0) now_->edit.record(took, edits);
    if (statements != 0) now_->statement.record(took, statements);
  }
  int64_t began_us() const { return began_us_; }
  /// Adds the latencies of the last one to two minutes.
  void add_latencies(Latencies &sum) const { latencies_.add_to(sum, clock_us() / minute_us); }

 private:
  static uint64_t since(const Counters &counters, Counter row, uint64_t &before) {
    const uint64_t now = counters.get(row);
    const uint64_t grown = now - before;
    before = now;
    return grown;
  }

  static constexpr int64_t minute_us = 60'000'000;
  void begin_minute(int64_t now_us) {
    now_ = &latencies_.of(now_us / minute_us);
    minute_ends_us_ = (now_us / minute_us + 1) * minute_us;
  }

  RecentLatencies latencies_;
  Latencies *now_ = nullptr;  // once a minute has begun
  int64_t minute_ends_us_ = 0;
  int64_t began_us_ = 0;
  uint64_t finds_ = 0;
  uint64_t inserts_ = 0;
  uint64_t edits_ = 0;
  uint64_t statements_ = 0;
};

}  // namespace postern::door
