// session_items.h: functions without arguments that are constant while a statement runs and another value the next
// time: NOW(), LAST_INSERT_ID(), DATABASE() and others.
//
// To the optimizer each is a column of a row around the statement, like the values of an execution: nothing that is
// kept from one execution to the next may depend on it. Their values come from the session while the plan is executed.
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
/// Whether it tells the time.
bool tells_time(const Item_func &function);

/// What stands in the place of such a function in a plan. In the memory of the arena, which destroys it. nullptr: there
/// is no memory.
ValueItem *make_session_item(THD *thd, Item_func &function);

/// The same around an expression without columns that has session items in it. A range of an index may begin or end
/// there: for that it can be shown to the optimizer. nullptr: there is no memory.
ValueItem *make_session_value(THD *thd, Item &expression);

}  // namespace postern::mariadb
