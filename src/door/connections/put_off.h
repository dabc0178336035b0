// put_off.h: PutOff, requests of a connection that were parsed and not answered.
#pragma once

#include <cstdint>
#include <vector>

#include "base/arena.h"
#include "contract/op.h"
#include "contract/unit.h"

namespace postern::door {

/// They are left because the output was above high water, because the batch had enough large rows, or because they came
/// back from the slow lane after one that was held up. Owned by their connection, or by its job.
struct PutOff {
  Arena::Kept arena;  ///< holds the ops
  std::vector<Op> ops;
  std::vector<Unit> units;     ///< among these ops
  int64_t busy_since_ms = -1;  ///< since when the first one's table is held, or its row locked

  /// Forgets them, and keeps the memory of the lists.
  void clear() {
    arena.release();
    ops.clear();
    units.clear();
    busy_since_ms = -1;
  }
};

}  // namespace postern::door
