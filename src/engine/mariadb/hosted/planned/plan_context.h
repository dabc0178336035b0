// plan_context.h: PlanContext, all that is a session's and has a part in how its statements are resolved, planned and
// executed. A kept plan serves the sessions whose context is that of the session for which it was made.
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
