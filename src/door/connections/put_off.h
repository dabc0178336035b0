// put_off.h: PutOff, requests of a connection that were read and not answered.
#pragma once

#include <cstdint>
#include <vector>

#include "base/arena.h"
#include "contract/op.h"
#include "contract/unit.h"

namespace postern::door {

/// The output was above high water, or the batch had had enough large rows, or they were in the slow lane after one
/// that was held up, and have come back. Owned by their connection, or by its job.
struct PutOff {
  Arena::Kept arena;  ///< holds the ops
  std::vector<Op> ops;
  std::vector<Unit> units;     ///< among these ops
  int64_t busy_since_ms = -1;  ///< since when the first one finds its table held, or its row locked
};

}  // namespace postern::door
