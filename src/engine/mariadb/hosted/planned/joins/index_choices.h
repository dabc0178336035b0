// index_choices.h: IndexChoices, the indexes that the server would take for the values of a plan's first execution, and
// whether other values are such that it would take others.
//
// The server counts the rows of `column = 'literal'` in the index; of outer references, such as the values of a plan,
// it knows the average. So the statement is first planned with literals, and the plan may use the indexes found that
// way. If other values may need another index, their rows are counted before each execution, in classes: a plan made
// for one class serves it, and other classes with the same plan.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "engine/mariadb/hosted/planned/joins/kept_plan.h"
#include "engine/mariadb/hosted/planned/forms/server.h"

namespace postern::mariadb {

/// The index by which the server searches a table.
struct TableAccess {
  static constexpr int none = -1;     ///< it reads all rows
  static constexpr int unknown = -2;  ///< or one row, while planning
  int index = unknown;
};

/// The accesses of a plan made for certain values.
struct Accesses {
  std::vector<TableAccess> tables{};  ///< in the order of the statement; empty: unknown
  bool none = false;                  ///< MIN or MAX is found at an end of an index, without other reads
};

/// The ranges by which a table is read; nullptr: it is read in another way.
const QUICK_SELECT_I *ranges_of(const JOIN_TAB &tab);

/// Owned by a plan. `tables` are always the plan's, in the order of the statement.
class IndexChoices {
 public:
  /// Restrictions of the optimizer to the wanted accesses.
  enum class Hints : uint8_t { none, indexes, indexes_by_force };

  /// Called before the plan is made.
  void want(Accesses accesses, Hints hints) {
    wanted_ = std::move(accesses);
    hints_ = hints;
  }
  /// When the plan has the values of its first execution, and the server's choice is not restricted yet. `equal`: the
  /// columns that values have to equal; `of`: the classes that the plan is for, empty if unknown. False: it would read
  /// many rows where the server finds one.
  bool note(std::span<TABLE *const> tables, std::span<const Field *const> equal, Bytes of);
  /// Called before planning. Does not concern indexes used for ordering.
  void give_hints(std::span<TABLE *const> tables) const;
  /// Once it is planned.
  void note_accesses(std::span<TABLE *const> tables, std::span<JOIN *const> joins);
  std::vector<TableAccess> take_accesses() { return std::move(accesses_); }
  bool has_what_is_wanted() const;
  /// Whether it looks at the rows before each execution, and has the server's plan for them.
  bool follow_values() const { return looks_ && !wanted_.tables.empty() && has_what_is_wanted(); }

  void serve(Bytes row_classes) { serves_.emplace_back(row_classes); }
  /// With the values in the columns' records and the tables locked. False: another plan may be better, and `executed`
  /// has the classes that it is better for.
  bool suit(Executed &executed);
  /// Values may have many more rows than those before.
  void note_examined(uint64_t examined);

 private:
  /// An index with leading columns that have to equal values; these match different numbers of rows.
  struct Choice {
    TABLE *table = nullptr;
    uint index = 0;
    uint parts = 0;
  };

  void note_indexes_of(TABLE &table, std::span<const Field *const> equal);
  std::string row_classes() const;

  Accesses wanted_;
  Hints hints_ = Hints::none;
  std::vector<TableAccess> accesses_;  // of the plan's tables
  std::vector<Choice> choices_;
  std::vector<std::string> serves_;  // classes of numbers of rows
  std::vector<std::string> others_;  // classes for which there may be a better plan
  bool looks_ = false;               // at the rows before each execution
  bool of_classes_ = false;          // it is not the form's first plan
  uint64_t most_examined_ = 0;       // where it did not look
};

}  // namespace postern::mariadb
