// session_items.h: functions without arguments that are constant during a statement and may differ in the next: NOW(),
// LAST_INSERT_ID(), DATABASE() and others.
//
// For the optimizer each is an outer reference, like the values of an execution, so nothing kept between executions can
// depend on it. The session provides their values while the plan is executed.
#pragma once

#include "engine/mariadb/hosted/planned/forms/server.h"
#include "engine/mariadb/hosted/planned/joins/value_items.h"

namespace postern::mariadb {

/// Makes the item that replaces such a function in a plan, in the arena's memory; the arena destroys it. nullptr: out
/// of memory.
ValueItem *make_session_item(THD *thd, Item_func &function);

/// The same for an expression without columns that contains session items. It may bound an index range, so it can be
/// shown to the optimizer. nullptr: out of memory.
ValueItem *make_session_value(THD *thd, Item &expression);

}  // namespace postern::mariadb
