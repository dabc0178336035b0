// ranged_items.h: comparisons of a column with values of an execution, that ranges of an index are made of.
//
// A value is an outer reference, which the server's range optimizer does not look at. These comparisons show it their
// values as constants, while it looks for ranges and for no longer: so a plan has the access that the server would take
// for the values of its first execution, and every later one has the same index walked through ranges of its own
// (renew_ranges.cc). Nothing that was found out by a value is removed from the conditions.
#pragma once

#include <span>

#include "engine/mariadb/hosted/planned/server.h"
#include "engine/mariadb/hosted/planned/value_items.h"

namespace postern::mariadb {

/// `col IN (...)`: it has its values sorted, and has to be told when they are others.
class ValueList {
 public:
  virtual void sort_values() = 0;

 protected:
  ~ValueList() = default;
};

/// The comparison of `item`, as the parser made it, with `values` in their places, which outlive it. Made in the
/// arena's memory. Sets `list` if the comparison is a list. nullptr: no range can be made of it; or an error is set.
Item *make_ranged(THD *thd, Item_func &item, std::span<ValueItem *const> values, ValueList *&list);

}  // namespace postern::mariadb
