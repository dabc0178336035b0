// value_items.h: ValueItem, a value of an execution in the place of a literal. To the optimizer it is a column of a row
// around the statement (an outer reference): it is the same while the plan is executed, and unknown before that.
#pragma once

#include "engine/mariadb/hosted/planned/kept_plan.h"
#include "engine/mariadb/basics/server.h"

namespace postern::mariadb {

/// In the memory of the plan's arena, which destroys it.
class ValueItem {
 public:
  /// `first`: that of the first execution; all others are as is_beyond() as it is, and of its kind in a sum. nullptr:
  /// there is no memory. Not for what shapes the plan.
  static ValueItem *make(THD *thd, const ValuePlace &place, const Value &first);
  virtual ~ValueItem() = default;
  ValueItem(const ValueItem &) = delete;
  ValueItem &operator=(const ValueItem &) = delete;

  virtual Item *item() = 0;
  /// While it is shown the optimizer takes it for a constant.
  virtual void show(bool shown) = 0;
  /// Takes the value that `field` has, the column it is compared with, as store_exactly() has put it there.
  virtual void take(THD *thd, const Value &value, Field &field) = 0;
  /// For LIMIT, OFFSET and sums; a negative one by its bits.
  virtual void take_number(uint64_t number) { static_cast<void>(number); }

 protected:
  ValueItem() = default;
};

}  // namespace postern::mariadb
