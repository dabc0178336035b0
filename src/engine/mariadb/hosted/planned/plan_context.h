// plan_context.h: PlanContext, all session state that affects how statements are resolved, planned and executed. A kept
// plan serves sessions with the context of the session for which it was made.
#pragma once

#include <cstring>

#include "engine/mariadb/basics/server.h"

namespace postern::mariadb {

/// Without padding, so that equal contexts have equal bytes.
struct PlanContext {
  explicit PlanContext(const THD *thd);
  bool operator==(const PlanContext &other) const { return std::memcmp(this, &other, sizeof *this) == 0; }

  ulonglong numbers[40];
  const void *objects[9];
};

}  // namespace postern::mariadb
