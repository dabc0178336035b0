// range_keys.h: RangeKeys, the keys of an index's ranges where only their values differ between executions.
//
// The server's range optimizer builds a tree of all conditions for each execution. That is not needed if the index's
// leading columns are equal to values, or to lists of values, and at most one further column lies between two values:
// then each execution's values are written into the keys of the ranges that the server made for earlier values.
#pragma once

#include <vector>

#include "engine/mariadb/hosted/planned/forms/server.h"

namespace postern::mariadb {

/// Owned by a plan.
class RangeKeys {
 public:
  /// `condition` selects the rows of `table`, which are read by that index.
  RangeKeys(TABLE &table, uint index, Item &condition);

  /// Looks at the ranges that the server has made for this execution's values: whether write() would make the same.
  void compare(THD *thd, QUICK_RANGE_SELECT &made);
  /// Writes this execution's values into the keys. False: the server has to make the ranges, because their number or
  /// kind depends on the values, or because those of `made` are of another kind.
  bool write(THD *thd, QUICK_RANGE_SELECT &made);

 private:
  /// The values that a part of the index is compared with.
  struct Part {
    bool has_interval() const { return lower != nullptr || upper != nullptr; }
    bool compares() const { return !points.empty() || has_interval(); }

    const KEY_PART_INFO *key_part = nullptr;
    std::vector<Item *> points;  // it equals one of them
    Item *lower = nullptr;
    Item *upper = nullptr;
    bool above = false;  // above the lower one: `>`
    bool below = false;

    // The execution's.
    std::vector<uchar> keys;          // points, or the lower and the upper end
    std::vector<const uchar *> each;  // points, ascending
  };

  bool note(Item &condition);
  bool note_comparison(Item_func &function, Part &part);
  bool mentions_index(Item *item) const;
  bool is_of_index(const Field &field, Item_equal *equal) const;
  Part *part_of(const Item *item);
  bool cut();

  bool make_keys(THD *thd);
  bool make_points(THD *thd, Part &part);
  bool make_interval(THD *thd, Part &part);
  static bool make_key(THD *thd, const KEY_PART_INFO &part, Item *value, uchar *key);
  template <class Use>
  bool for_each_range(Use use);
  template <class Use>
  bool use_ranges(QUICK_RANGE_SELECT &made, Use use);

  TABLE &table_;
  const KEY &key_;
  std::vector<Part> parts_;  // none: its ranges have no fixed shape
  std::vector<uchar> min_;   // keys of one range
  std::vector<uchar> max_;
  uint min_length_ = 0;
  uint max_length_ = 0;
  uint flags_ = 0;
  bool same_ = false;  // as compare() found
};

}  // namespace postern::mariadb
