// turn_clock.h: TurnClock, what time it is in a worker's turn, and how long its requests take.
//
// A worker has one, and its thread alone calls it; latencies() is for any.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/counters.h"
#include "base/histogram.h"

namespace postern::door {

class TurnClock {
 public:
  /// Bytes have come. The time, in milliseconds.
  int64_t begin() {
    began_us_ = clock_us();
    return began_us_ / 1000;
  }
  /// All that could be answered is sent. `counters` are the worker's: what they have grown by was answered, in so long.
  /// Reads the clock in turns that answered something.
  void end(const Counters &counters) {
    const uint64_t finds = since(counters, Counter::requests_find, finds_);
    const uint64_t inserts = since(counters, Counter::requests_insert, inserts_);
    const uint64_t edits = since(counters, Counter::requests_edit, edits_);
    if ((finds | inserts | edits) == 0) return;
    const auto took = static_cast<uint64_t>(clock_us() - began_us_);
    if (finds != 0) latencies_.find.record(took, finds);
    if (inserts != 0) latencies_.insert.record(took, inserts);
    if (edits != 0) latencies_.edit.record(took, edits);
  }
  int64_t began_us() const { return began_us_; }
  const Latencies &latencies() const { return latencies_; }

 private:
  static uint64_t since(const Counters &counters, Counter row, uint64_t &before) {
    const uint64_t now = counters.get(row);
    const uint64_t grown = now - before;
    before = now;
    return grown;
  }

  Latencies latencies_;
  int64_t began_us_ = 0;
  uint64_t finds_ = 0;
  uint64_t inserts_ = 0;
  uint64_t edits_ = 0;
};

}  // namespace postern::door
