// ranged_items.h: comparisons of a column with an execution's values, from which index ranges are made.
//
// A value is an outer reference, which the server's range optimizer ignores. These comparisons show their values as
// constants, only while it looks for ranges: so a plan has the server's access for the values of its first execution,
// and each later execution walks the same index through ranges of its own (renewed_ranges.h). No condition is removed
// because of a value.
#pragma once

#include <span>

#include "engine/mariadb/hosted/planned/forms/server.h"
#include "engine/mariadb/hosted/planned/joins/value_items.h"

namespace postern::mariadb {

/// `col IN (...)`: it sorts its values, and has to be notified of new ones.
class ValueList {
 public:
  virtual void sort_values() = 0;

 protected:
  ~ValueList() = default;
};

/// Makes the comparison that replaces `item`, from the parser, with `values` in their places, which outlive it. In the
/// arena's memory. Sets `list` if it is an IN list. nullptr: it gives no range; or an error is set.
Item *make_ranged(THD *thd, Item_func &item, std::span<ValueItem *const> values, ValueList *&list);

}  // namespace postern::mariadb
