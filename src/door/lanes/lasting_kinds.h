// lasting_kinds.h: LastingKinds, which kinds of statements have lasted lately.
//
// A worker has one, and whoever has its loop touches it. It forgets: one kind may take the place of another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "door/lanes/crew_limits.h"

namespace postern::door {

class LastingKinds {
 public:
  /// Whether a statement of that kind may be expected to be short. One that lasted is tried again after a while.
  bool may_be_short(uint64_t kind, int64_t now_ms) const {
    const Entry &entry = entries_[kind % entries_.size()];
    return entry.kind != kind || now_ms >= entry.until_ms;
  }
  void note(uint64_t kind, int64_t took_us, int64_t now_ms) {
    if (took_us < limits::lasting_us_min) return;
    entries_[kind % entries_.size()] = {kind, now_ms + limits::lasting_kind_ms};
  }

 private:
  struct Entry {
    uint64_t kind = 0;
    int64_t until_ms = 0;
  };
  std::array<Entry, 256> entries_{};
};

}  // namespace postern::door
