// join_plan.h: JoinPlan, a KeptPlan that uses the server's JOIN. make_plan.cc makes it, execute_plan.cc executes it.
//
// The state that the server's optimizer and executor keep in a SELECT points to a THD in few places: LEX, unit, JOIN,
// the result, and each TABLE. These point to the session while the plan is executed, and to the home THD otherwise.
//
// State that one execution could leave for the next, from optimize(), exec(), reinit() and cleanup() of JOIN:
// - Memory. Temporary tables, sort orders and copy fields are made in the first execution and kept: that execution
//   allocates from the plan, every later one from its own memory.
// - JOIN::do_send_rows, which is off once a LIMIT with SQL_CALC_FOUND_ROWS is reached, and the limits of the unit: both
//   are set anew. A LIMIT itself is part of the plan: of its sorts and temporary tables, too.
// - Ranges of an index, which depend on values: they are made anew.
// - Rows that the optimizer has read (const tables, MIN and MAX by an index), rowids of ranges, materialized rows, join
//   buffers, ranges checked for each row, cursors of merged indexes: plans with these are refused.
// - Rowids by which a semi-join recognises rows that it has found: reinit() empties their tables.
// - Subqueries. The server executes an uncorrelated one once, and uses the result as a constant while planning: here
//   each is correlated with the outer values, and is executed again for each row. The optimizer may also turn one in
//   WHERE or in the select list into a join, as long as nothing is kept for that. Keys of a sort, which the server
//   makes in the first execution of a subquery and keeps, are made with the plan.
// - Derived tables that are not merged. The server fills one once, or, if it is correlated, again without
//   JOIN::reinit(): here it is emptied and filled before each execution (derived_tables.cc).
// - UNION: the server empties its table before each execution, as for a subquery (run_union()); the SELECT that reads
//   it is made in the first one. Its limits belong to the plan.
// - COUNT(DISTINCT ...) and GROUP_CONCAT(): trees, the text, and whether it has been counted; all are cleared.
// - A constant in a function's argument, which the server replaces by its value: session_items.cc.
// - A temporary table that has been moved to disk stays there: that plan is dropped. So is one that was interrupted, or
//   met an error or a warning.
// - The storage engine forgets index-only reads after each statement, so they are requested again.
// - TABLE::in_use, and memory and files counted for a session: they are handed over.
//
// All of this was checked in 10.11 and 11.8. The latter counts examined rows in the THD and not in the JOIN; counts and
// bounds temporary files (a sort's stays until the next one); has costs and a map of collations in the session
// (PlanContext), a self-reference in each THD's variables, and indexes stored in tables of their own; its optimizer
// names a range JT_RANGE, and rewrites conditions on YEAR(), DATE(), UPPER() and SUBSTR() of a column, but only beside
// literals of the text. A UNION has the JOIN that reads its rows from the beginning, and may be a storage engine's as a
// whole.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "engine/mariadb/hosted/planned/kept_plan.h"
#include "engine/mariadb/hosted/planned/ranged_items.h"
#include "engine/mariadb/hosted/planned/row_sink.h"
#include "engine/mariadb/hosted/planned/table_figures.h"
#include "engine/mariadb/hosted/planned/value_items.h"
#include "engine/mariadb/hosted/reads/read_form.h"
#include "engine/mariadb/hosted/planned/server.h"

namespace postern::mariadb {

/// With these the optimizer keeps state from one execution of a subquery to the next, although rows may have changed:
/// rowids of a range, values of subqueries; or has cursors of its own.
constexpr ulonglong switches_off = OPTIMIZER_SWITCH_USE_ROWID_FILTER | OPTIMIZER_SWITCH_SUBQUERY_CACHE |
                                   OPTIMIZER_SWITCH_MATERIALIZATION | OPTIMIZER_SWITCH_INDEX_MERGE |
                                   OPTIMIZER_SWITCH_SPLIT_MATERIALIZED | OPTIMIZER_SWITCH_COND_PUSHDOWN_FOR_DERIVED |
                                   OPTIMIZER_SWITCH_MRR | OPTIMIZER_SWITCH_LOOSE_SCAN | OPTIMIZER_SWITCH_EXISTS_TO_IN;

struct PlanMemory {
  PlanMemory() { init_alloc_root(PSI_NOT_INSTRUMENTED, &root, 16384, 0, MYF(0)); }
  ~PlanMemory() { free_root(&root, MYF(0)); }
  PlanMemory(const PlanMemory &) = delete;
  PlanMemory &operator=(const PlanMemory &) = delete;
  size_t bytes() const;

  MEM_ROOT root;
};

/// The counters that the server raises while planning.
struct PlanningCounts {
  explicit PlanningCounts(const STATUS_VAR &counts)
      : numbers{counts.select_full_join_count_, counts.select_full_range_join_count_,
                counts.select_range_count_,     counts.select_range_check_count_,
                counts.select_scan_count_,      counts.feature_subquery} {}
  PlanningCounts since(const PlanningCounts &before) const;
  void add_to(STATUS_VAR &counts) const {
    counts.select_full_join_count_ += numbers[0];
    counts.select_full_range_join_count_ += numbers[1];
    counts.select_range_count_ += numbers[2];
    counts.select_range_check_count_ += numbers[3];
    counts.select_scan_count_ += numbers[4];
    counts.feature_subquery += numbers[5];
  }

  std::array<ulong, 6> numbers;
};

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

/// The accesses of a table; nullptr: it is not read.
const QUICK_SELECT_I *ranges_of(const JOIN_TAB &tab);

class JoinPlan final : public KeptPlan {
 public:
  /// The comparisons with values that the optimizer may turn into index ranges: all, or all except `=`.
  enum class RangesOf : uint8_t { all, all_but_equal };

  /// Restrictions of the optimizer to the wanted accesses.
  enum class Hints : uint8_t { none, indexes, indexes_by_force };

  JoinPlan(THD *home, RangesOf ranges)
      : home_(home), ranges_of_(ranges), arena_(&memory_.root, Query_arena::STMT_CONVENTIONAL_EXECUTION) {}
  /// Finds how the server reads the tables of `what` as written.
  static Accesses accesses_as_said(THD *home, THD *session, const ToBePlanned &what);
  /// Called before the plan is made.
  void want(Accesses accesses, Hints hints) {
    wanted_ = std::move(accesses);
    hints_ = hints;
  }
  bool has_what_is_wanted() const;
  ~JoinPlan() override;

  /// Once. False: `why`, as with make_plan().
  bool make(THD *session, const ToBePlanned &what, const char *&why);

  std::optional<NotNow> execute(THD *thd, std::span<const Value> values, bool prepared, uint64_t rows_max,
                                const sql::Answer &answer, sql::Packets &packets, Executed &executed) override;
  bool follows_values() const override {
    return looks_ && ranged_.empty() && !wanted_.tables.empty() && has_what_is_wanted();
  }
  void serve(Bytes row_classes) override { serves_.emplace_back(row_classes); }
  bool spent() const override { return spent_; }
  bool outdated() const override;
  bool is_worth_keeping() override;
  bool wanted_by_others() const override;
  std::span<MDL_ticket *const> tickets() const override { return tickets_; }
  size_t bytes() const override {
    return sizeof *this + memory_.bytes() + run_memory_.bytes() + tables_.size() * table_bytes + scratch_bytes();
  }
  const std::string &shown() const override { return shown_; }

 private:
  class Lent;

  /// The approximate memory of an open table with its handler and InnoDB's part.
  static constexpr size_t table_bytes = size_t{32} << 10;

  /// One value, and the column that it is compared with, if it is.
  struct Compared {
    ValueItem *value = nullptr;
    ValueUse use = ValueUse::shapes;
    Field *field = nullptr;
    Exact exact = Exact::integer;
  };

  /// An index with leading columns that have to equal values; these match different numbers of rows.
  struct Choice {
    TABLE *table = nullptr;
    uint index = 0;
    uint parts = 0;
  };

  /// A table read by index ranges, which are made anew for each execution.
  struct RangedRead {
    SQL_SELECT *select = nullptr;
    Item *condition = nullptr;
    uint index = 0;
    std::optional<uint> down_by;  ///< read downwards: by how many parts, the primary key's included
  };

  /// A temporary table. One with columns as long as a TEXT is kept on the disk from the beginning, by Aria.
  struct Scratch {
    TABLE *table = nullptr;
    bool on_disk = false;
  };

  /// A subquery that is executed for each outer row.
  struct Subquery {
    Item_subselect *item = nullptr;
    SELECT_LEX_UNIT *unit = nullptr;
    JOIN *join = nullptr;
  };

  /// A derived table that is filled before the statement around it is executed.
  struct Derived {
    TABLE_LIST *list = nullptr;
    SELECT_LEX_UNIT *unit = nullptr;
    JOIN *join = nullptr;
  };

  /// COUNT(DISTINCT ...) or GROUP_CONCAT(), and the table that builds its keys.
  struct Distinct {
    Item_sum *count = nullptr;
    TABLE *table = nullptr;
  };

  /// Whether executions differ in anything but rows.
  bool varies() const { return !values_.empty() || !session_.empty(); }
  /// Whether a UNION stores its rows in a table, and does not only pass them on.
  bool keeps_rows() const { return is_union_ && lex_.unit.fake_select_lex != nullptr; }

  // make_plan.cc
  bool parse(const ToBePlanned &what);
  bool open(const ToBePlanned &what);
  void make_repeatable();
  bool prepare();
  bool optimize(const ToBePlanned &what, const char *&why);
  const char *check(bool &for_now);
  bool take_first_values(const ToBePlanned &what, const char *&why);
  void note_tables();
  void note_tables_of(JOIN *join);
  void note_table(const JOIN_TAB &tab);
  void close();

  // put_values.cc
  bool put_values(const ToBePlanned &what);
  bool put_values_in_select(SELECT_LEX &select);
  Item *put_values_in(Item *item);
  bool put_values_in_row(Item &row);
  bool put_values_in_answer(SELECT_LEX &select);
  Item *note_session(ValueItem *value);
  bool is_calculated(Item *item, bool &any);
  Item *make_ranged_of(Item_func &function);
  void put_limits();
  bool put_values_in(List<TABLE_LIST> &joined);
  bool note_comparison(Item_func &function);
  bool note_rows(Item_func &function);
  Compared *value_of(const Item *item);

  // derived_tables.cc
  bool prepare_derived(SELECT_LEX &select);
  static void mark_derived(SELECT_LEX &select);
  const char *note_derived(SELECT_LEX &select);
  void note_distinct(const JOIN &join);
  void give_derived_to(THD *thd);
  bool fill_derived(THD *thd);
  void empty_derived();
  void free_derived();

  // index_by_values.cc
  bool is_one_select() const;
  void note_accesses();
  void give_hints() const;
  bool note_choices(Bytes row_classes);
  std::vector<const Field *> columns_of_values() const;
  void note_choices_of(TABLE &table, std::span<const Field *const> equal);
  std::string row_classes() const;
  bool is_for(Executed &executed);
  void note_examined(uint64_t examined);

  // scratch_tables.cc
  static bool weeds_out_on_disk(const JOIN &join);
  static bool may_keep_scratch(const TABLE &table);
  void note_scratch(TABLE *table);
  void note_weeded_out();
  void limit_scratch();
  size_t scratch_bytes() const;
  void take_scratch(THD *thd) const;
  bool scratch_has_outgrown() const;
  void count_scratch(STATUS_VAR &counts) const;

  // plan_checks.cc
  static void depend_subqueries(SELECT_LEX &select);
  bool note_dependence(SELECT_LEX &select);
  bool note_subqueries(SELECT_LEX &select);
  void make_sort_keys(JOIN &join) const;
  static bool sorts_anew(const JOIN_TAB &tab);
  const char *refusal() const;
  const char *refusal_of_locks() const;
  static bool is_never_true(const JOIN &join);
  static bool is_found_by_index(const JOIN &join);
  const char *refusal_of_whole(const JOIN &join) const;
  static const char *refusal_of(const JOIN &join);
  static const char *refusal_of(const Subquery &subquery);
  static const char *refusal_of(const JOIN_TAB &tab);

  // renew_ranges.cc
  bool note_ranges();
  bool note_ranges_of(JOIN *join);
  bool renew_ranges(THD *thd);

  // execute_plan.cc
  void give_to(THD *thd);
  void give_subqueries_to(THD *thd);
  bool take_values(THD *thd, std::span<const Value> values);
  bool take_limits(std::span<const Value> values, bool as_class);
  bool hold_tables(THD *thd) const;
  void prepare_locks() const;
  static void unlock(THD *thd);
  bool calculate(THD *thd) const;
  bool run(THD *thd);
  bool run_union(THD *thd);
  std::optional<NotNow> outcome(THD *thd, bool ran, uint64_t rows_max) const;
  void count(THD *thd) const;

  THD *const home_;
  const RangesOf ranges_of_;
  bool as_said_ = false;  // it is not to be executed
  Accesses wanted_;
  Hints hints_ = Hints::none;
  std::vector<TableAccess> accesses_;  // of tables_
  std::vector<Choice> choices_;
  std::vector<std::string> serves_;  // classes of numbers of rows
  std::vector<std::string> others_;  // classes for which there may be a better plan
  bool looks_ = false;               // at the rows before each execution
  bool of_classes_ = false;          // it is not the form's first plan
  uint64_t most_examined_ = 0;       // where it did not look
  PlanMemory memory_;
  PlanMemory run_memory_;  // memory of an execution after the first, until its end
  Query_arena arena_;
  LEX lex_;
  bool begun_ = false;   // lex_ has to be ended
  bool opened_ = false;  // all tables are open
  RowSink *sink_ = nullptr;
  FormLock lock_ = FormLock::none;  // of rows
  std::vector<JOIN *> joins_;       // of all SELECTs of a UNION, or the only one
  bool is_union_ = false;
  std::vector<TABLE *> tables_;        // that it has open
  std::vector<TableFigures> figures_;  // their statistics when it was made
  std::vector<Scratch> scratch_;       // temporary ones, also derived ones
  uint64_t scratch_rows_max_ = UINT64_MAX;
  std::vector<TABLE *> weeded_out_;    // tables of rowids that semi-joins have found; each execution empties them
  std::vector<MDL_ticket *> tickets_;  // of tables and views
  std::vector<Item_param *> places_;   // while it is made
  std::vector<Compared> values_;
  std::vector<ValueItem *> calculated_;                // of values and of those
  std::vector<std::pair<Item_func *, uint>> unequal_;  // comparisons with others that are calculated, and where
  std::vector<ValueItem *> session_;                   // values of the session's functions
  std::vector<Item_func *> comparisons_;               // with values
  std::vector<Subquery> subqueries_;
  std::vector<Derived> derived_;
  TABLE *derived_tables_ = nullptr;  // their tables, and those of merged ones: a list
  std::vector<Distinct> distinct_;
  std::vector<ValueList *> lists_;
  std::vector<RangedRead> ranged_;
  std::vector<Filesort *> limited_sorts_;  // by a LIMIT that varies
  std::string text_;
  std::string shown_;
  PlanningCounts planning_{STATUS_VAR{}};
  ulonglong file_bytes_ = 0;               // of temporary files, as its THD counts them
  PlanningCounts of_union_{STATUS_VAR{}};  // of the SELECT that reads the rows of a UNION
  uint plan_flags_ = 0;
  uint status_ = 0;  // the server's remarks on indexes
  bool executed_ = false;
  bool spent_ = false;
};

}  // namespace postern::mariadb
