// plan_memory.h: PlanMemory, memory from which the server allocates objects of a plan.
#pragma once

#include "engine/mariadb/basics/server.h"

namespace postern::mariadb {

/// Freed with it. Used by one thread at a time.
struct PlanMemory {
  /// `block`: bytes that it takes at once.
  explicit PlanMemory(size_t block = 16384) { init_alloc_root(PSI_NOT_INSTRUMENTED, &root, block, 0, MYF(0)); }
  ~PlanMemory() { free_root(&root, MYF(0)); }
  PlanMemory(const PlanMemory &) = delete;
  PlanMemory &operator=(const PlanMemory &) = delete;
  size_t bytes() const {
    size_t sum = 0;
    for (const USED_MEM *const first : {root.free, root.used})
      for (const USED_MEM *block = first; block != nullptr; block = block->next) sum += block->size;
    return sum;
  }

  MEM_ROOT root;
};

}  // namespace postern::mariadb
