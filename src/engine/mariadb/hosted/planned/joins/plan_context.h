// plan_context.h: PlanContext, all session state that affects how statements are resolved, planned and executed. A kept
// plan serves sessions with the context of the session for which it was made.
#pragma once

#include <cstring>

#include "engine/mariadb/basics/server.h"

namespace postern::mariadb {

/// With these the optimizer keeps state from one execution of a subquery to the next, although rows may have changed:
/// rowids of a range, values of subqueries; or has cursors of its own.
constexpr ulonglong switches_off = OPTIMIZER_SWITCH_USE_ROWID_FILTER | OPTIMIZER_SWITCH_SUBQUERY_CACHE |
                                   OPTIMIZER_SWITCH_MATERIALIZATION | OPTIMIZER_SWITCH_INDEX_MERGE |
                                   OPTIMIZER_SWITCH_SPLIT_MATERIALIZED | OPTIMIZER_SWITCH_COND_PUSHDOWN_FOR_DERIVED |
                                   OPTIMIZER_SWITCH_MRR | OPTIMIZER_SWITCH_LOOSE_SCAN | OPTIMIZER_SWITCH_EXISTS_TO_IN;

/// Without padding, so that equal contexts have equal bytes.
struct PlanContext {
  explicit PlanContext(const THD *thd);
  bool operator==(const PlanContext &other) const { return std::memcmp(this, &other, sizeof *this) == 0; }

  ulonglong numbers[40];
  const void *objects[9];
};

}  // namespace postern::mariadb
