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
  void note(uint64_t kind, int64_t took_us, int64_t now_ms) {
    Entry &entry = entries_[kind % entries_.size()];
    const bool known = entry.kind == kind;
    if (took_us >= limits::lasting_us_min) {
      entry = {kind, now_ms + limits::lasting_kind_ms, known ? std::min(entry.times + 1, times_min) : 1};
    } else if (known) {
      entry.times = 0;
    }
  }

 private:
  /// How often in a row a kind must last: a single time may be due to other load on the machine.
  static constexpr int times_min = 2;

  struct Entry {
    uint64_t kind = 0;
    int64_t until_ms = 0;
    int times = 0;
  };
  std::array<Entry, 256> entries_{};
};

}  // namespace postern::door
