// varying_values.h: VaryingValues, the values of a plan's statement that differ between its executions: their places,
// the columns that they are compared with, and what an execution calculates of them.
//
// Each is an outer reference for the optimizer (value_items.h). Only values are taken that the column holds exactly:
// there the server's comparison with a literal and the one with a value that has its type are the same.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "engine/mariadb/hosted/planned/joins/kept_plan.h"
#include "engine/mariadb/hosted/planned/joins/ranged_items.h"
#include "engine/mariadb/hosted/planned/forms/server.h"
#include "engine/mariadb/hosted/planned/joins/value_items.h"
#include "engine/mariadb/hosted/reads/read_form.h"

namespace postern::mariadb {

/// Owned by a plan; its items live in the plan's arena.
class VaryingValues {
 public:
  /// The comparisons with values that the optimizer may turn into index ranges: all, or all except `=`.
  enum class RangesOf : uint8_t { all, all_but_equal };

  VaryingValues(THD *home, RangesOf ranges) : home_(home), ranges_of_(ranges) {}

  /// Puts them into the parsed statement, in place of its parameters. False: out of memory.
  bool put_into(LEX &lex, const ToBePlanned &what);
  /// Once the statement's columns are resolved. False: one is not compared with a column as it is.
  bool find_columns();
  /// The columns that `condition` compares with a value by `=`, without OR.
  std::vector<const Field *> equal_columns(Item *condition) const;
  /// `sort` ends with the LIMIT, which varies if limit_varies().
  void limit_sort(Filesort *sort) { limited_sorts_.push_back(sort); }
  bool limit_varies() const;

  bool empty() const { return values_.empty(); }
  size_t size() const { return values_.size(); }
  /// Whether executions differ in anything but rows.
  bool varies() const { return !values_.empty() || !session_.empty(); }

  /// Takes an execution's values, as many as there are. False: a column does not hold one exactly.
  bool take(THD *thd, std::span<const Value> values);
  /// Takes LIMIT and OFFSET. `as_class`: the plan is being made.
  bool take_limits(std::span<const Value> values, bool as_class);
  /// Evaluates the expressions of values. False: an error is set.
  bool calculate(THD *thd) const;

 private:
  /// One value, and the column that it is compared with, if it is.
  struct Compared {
    ValueItem *value = nullptr;
    ValueUse use = ValueUse::shapes;
    Field *field = nullptr;
    Exact exact = Exact::integer;
  };

  bool put_in_select(SELECT_LEX &select);
  Item *put_in(Item *item);
  bool put_in_row(Item &row);
  bool put_in_answer(SELECT_LEX &select);
  bool put_in_joined(List<TABLE_LIST> &joined);
  void put_in_limits(LEX &lex);
  Item *note_session(ValueItem *value);
  Item *make_ranged_of(Item_func &function);
  bool is_calculated(Item *item, bool &any);
  bool note_comparison(Item_func &function);
  bool note_rows(Item_func &function);
  Compared *value_of(const Item *item);

  THD *const home_;
  const RangesOf ranges_of_;
  std::vector<Item_param *> places_;  // while it is made
  std::vector<Compared> values_;
  std::vector<ValueItem *> calculated_;                // of values and of those
  std::vector<std::pair<Item_func *, uint>> unequal_;  // comparisons with others that are calculated, and where
  std::vector<ValueItem *> session_;                   // values of the session's functions
  std::vector<Item_func *> comparisons_;               // with values
  std::vector<ValueList *> lists_;
  std::vector<Filesort *> limited_sorts_;
};

}  // namespace postern::mariadb
