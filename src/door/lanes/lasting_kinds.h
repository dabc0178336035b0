// lasting_kinds.h: LastingKinds, which remembers the kinds of statements that lasted lately.
//
// Used by the thread that has the worker's loop. Its memory is bounded: one kind may replace another.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "door/lanes/crew_limits.h"

namespace postern::door {

class LastingKinds {
 public:
  /// Whether a statement of that kind is expected to be short. A kind that lasted is tried again after a while.
  bool may_be_short(uint64_t kind, int64_t now_ms) const {
    const Entry &entry = entries_[kind % entries_.size()];
    return entry.kind != kind || entry.times < times_min || now_ms >= entry.until_ms;
  }
  /// Whether the last statement of that kind lasted, by the clock.
  bool is_suspected(uint64_t kind) const {
    const Entry &entry = entries_[kind % entries_.size()];
    return entry.kind == kind && entry.times != 0;
  }
  void note_lasting(uint64_t kind, int64_t now_ms) {
    Entry &entry = entries_[kind % entries_.size()];
    // When a kind is tried again the first time counts as little as before: its thread had other work meanwhile.
    const bool is_tried_again = entry.times == times_min && now_ms >= entry.until_ms;
    const int times = entry.kind == kind && !is_tried_again ? std::min(entry.times + 1, times_min) : 1;
    entry = {kind, now_ms + limits::lasting_kind_ms, times};
  }
  void note_short(uint64_t kind) {
    Entry &entry = entries_[kind % entries_.size()];
    if (entry.kind == kind) entry.times = 0;
  }
  /// A statement that was noted as lasting only waited for a processor. The kind stays suspected.
  void note_preempted(uint64_t kind) {
    Entry &entry = entries_[kind % entries_.size()];
    if (entry.kind == kind) entry.times = 1;
  }

 private:
  /// How often in a row a kind must last: the first time may be due to tables that are not open yet.
  static constexpr int times_min = 2;

  struct Entry {
    uint64_t kind = 0;
    int64_t until_ms = 0;
    int times = 0;
  };
  std::array<Entry, 256> entries_{};
};

}  // namespace postern::door
