// plan_checks.h: refuses JOINs with parts that a plan for several executions must not have. join_plan.h lists what an
// execution leaves for the next.
#pragma once

#include "engine/mariadb/hosted/planned/forms/server.h"

namespace postern::mariadb {

/// nullptr: it may be executed many times; otherwise the reason why not. `varies`: executions differ in more than rows.
const char *refusal_of_whole(const JOIN &join, bool varies);
const char *refusal_of(const JOIN &join);
const char *refusal_of_subquery(JOIN *join);
const char *refusal_of_locks(JOIN &join);

/// Whether the condition is false for any values, if the server knows the result before it reads a row.
bool is_never_true(const JOIN &join);
/// Whether the server has found MIN or MAX at an end of an index, for any LIMIT.
bool is_found_by_index(const JOIN &join);

}  // namespace postern::mariadb
