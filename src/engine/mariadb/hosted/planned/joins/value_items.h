// value_items.h: ValueItem, a value of an execution that replaces a literal. For the optimizer it is an outer
// reference: constant during an execution, and unknown before.
#pragma once

#include "engine/mariadb/hosted/planned/joins/kept_plan.h"
#include "engine/mariadb/basics/server.h"

namespace postern::mariadb {

/// Lives in the memory of the plan's arena, which destroys it.
class ValueItem {
 public:
  /// `first`: the first execution's value; all others agree with it in is_beyond(), and in type within sums. nullptr:
  /// out of memory. Not for values that shape the plan.
  static ValueItem *make(THD *thd, const ValuePlace &place, const Value &first);
  virtual ~ValueItem() = default;
  ValueItem(const ValueItem &) = delete;
  ValueItem &operator=(const ValueItem &) = delete;

  virtual Item *item() = 0;
  /// While it is shown the optimizer treats it as a constant.
  virtual void show(bool shown) = 0;
  /// Takes the value from `field`, the column that it is compared with, as stored by store_exactly().
  virtual void take(THD *thd, const Value &value, Field &field) = 0;
  /// For LIMIT, OFFSET and sums; a negative value by its bits.
  virtual void take_number(uint64_t number) { static_cast<void>(number); }

 protected:
  ValueItem() = default;
};

}  // namespace postern::mariadb
