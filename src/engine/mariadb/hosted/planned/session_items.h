// session_items.h: functions without arguments that are constant during a statement and may differ in the next: NOW(),
// LAST_INSERT_ID(), DATABASE() and others.
//
// For the optimizer each is an outer reference, like the values of an execution, so nothing kept between executions can
// depend on it. The session provides their values while the plan is executed.
#pragma once

#include "engine/mariadb/hosted/planned/server.h"
#include "engine/mariadb/hosted/planned/value_items.h"

namespace postern::mariadb {

enum class SessionFunction : uint8_t {
  none,    ///< another function
  number,  ///< a time or a number: may be compared and calculated with
  text,    ///< may only be sent: a constant's text is converted to the character set of the other side
};

SessionFunction session_function(const Item &item);
/// Whether it returns the current time.
bool tells_time(const Item_func &function);

/// Makes the item that replaces such a function in a plan, in the arena's memory; the arena destroys it. nullptr: out
/// of memory.
ValueItem *make_session_item(THD *thd, Item_func &function);

/// The same for an expression without columns that contains session items. It may bound an index range, so it can be
/// shown to the optimizer. nullptr: out of memory.
ValueItem *make_session_value(THD *thd, Item &expression);

}  // namespace postern::mariadb
