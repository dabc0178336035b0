// join_plan.h: JoinPlan, a KeptPlan that uses the server's JOIN. make_plan.cc makes it, execute_plan.cc executes it.
// Its tables, values, indexes, subqueries, derived tables, temporary tables and ranges are parts with headers of their
// own.
//
// The state that the server's optimizer and executor keep in a SELECT points to a THD in few places: LEX, unit, JOIN,
// the result, and each TABLE. These point to the session while the plan is executed, and to the home THD otherwise.
//
// State that one execution could leave for the next, from optimize(), exec(), reinit() and cleanup() of JOIN:
// - Memory. Temporary tables, sort orders and copy fields are made in the first execution and kept: that execution
//   allocates from the plan, every later one from its own memory. Keys of a sort, which the server makes in the first
//   sort and keeps, are made with the plan: conditions that need no row may keep the first execution from sorting.
// - JOIN::do_send_rows, which is off once a LIMIT with SQL_CALC_FOUND_ROWS is reached, and the limits of the unit: both
//   are set anew. A LIMIT itself is part of the plan: of its sorts and temporary tables, too.
// - Ranges of an index, which depend on values: they are made anew, or their keys are written (range_keys.h).
// - Rows that the optimizer has read (const tables, MIN and MAX by an index), rowids of ranges, materialized rows, join
//   buffers, ranges checked for each row, cursors of merged indexes: plans with these are refused.
// - Rowids by which a semi-join recognises rows that it has found: reinit() empties their tables.
// - Subqueries. The server executes an uncorrelated one once, and uses the result as a constant while planning: here
//   each is correlated with the outer values, and is executed again for each row. The optimizer may also turn one in
//   WHERE or in the select list into a join, as long as nothing is kept for that. The server looks for columns only in
//   those that it has not executed yet, unless they are marked (Subqueries::note()).
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

#include "engine/mariadb/hosted/planned/joins/derived_tables.h"
#include "engine/mariadb/hosted/planned/joins/index_choices.h"
#include "engine/mariadb/hosted/planned/joins/kept_plan.h"
#include "engine/mariadb/hosted/planned/joins/plan_memory.h"
#include "engine/mariadb/hosted/planned/joins/plan_tables.h"
#include "engine/mariadb/hosted/planned/joins/renewed_ranges.h"
#include "engine/mariadb/hosted/planned/joins/row_sink.h"
#include "engine/mariadb/hosted/planned/joins/scratch_tables.h"
#include "engine/mariadb/hosted/planned/forms/server.h"
#include "engine/mariadb/hosted/planned/joins/subqueries.h"
#include "engine/mariadb/hosted/planned/joins/varying_values.h"

namespace postern::mariadb {

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

class JoinPlan final : public KeptPlan {
 public:
  using RangesOf = VaryingValues::RangesOf;
  using Hints = IndexChoices::Hints;

  JoinPlan(THD *home, RangesOf ranges)
      : home_(home),
        arena_(&memory_.root, Query_arena::STMT_CONVENTIONAL_EXECUTION),
        tables_(home),
        values_(home, ranges) {}
  /// Finds how the server reads the tables of `what` as written.
  static Accesses accesses_as_said(THD *home, THD *session, const ToBePlanned &what);
  /// Called before the plan is made.
  void want(Accesses accesses, Hints hints) { indexes_.want(std::move(accesses), hints); }
  bool has_what_is_wanted() const { return indexes_.has_what_is_wanted(); }
  ~JoinPlan() override;

  /// Once. False: `why`, as with make_plan().
  bool make(THD *session, const ToBePlanned &what, const char *&why);

  std::optional<NotNow> execute(THD *thd, std::span<const Value> values, bool prepared, uint64_t rows_max,
                                const sql::Answer &answer, sql::Packets &packets, Executed &executed) override;
  bool follows_values() const override { return ranges_.empty() && indexes_.follow_values(); }
  void serve(Bytes row_classes) override { indexes_.serve(row_classes); }
  bool spent() const override { return spent_; }
  bool outdated() const override { return tables_.outdated(); }
  bool is_worth_keeping() override;
  bool wanted_by_others() const override { return tables_.wanted_by_others(); }
  std::span<MDL_ticket *const> tickets() const override { return tables_.tickets(); }
  size_t bytes() const override {
    return sizeof *this + memory_.bytes() + run_memory_.bytes() + tables_.all().size() * table_bytes + scratch_.bytes();
  }
  const std::string &shown() const override { return shown_; }

 private:
  class Lent;

  /// The approximate memory of an open table with its handler and InnoDB's part.
  static constexpr size_t table_bytes = size_t{32} << 10;

  /// Whether a UNION stores its rows in a table, and does not only pass them on.
  bool keeps_rows() const { return is_union_ && lex_.unit.fake_select_lex != nullptr; }

  // make_plan.cc
  bool parse(const ToBePlanned &what);
  bool is_one_select() const;
  void make_repeatable();
  bool prepare();
  bool optimize(const ToBePlanned &what, const char *&why);
  bool note_choices(Bytes row_classes);
  const char *check(bool &for_now);
  const char *refusal() const;
  bool note_ranges();
  void note_tables();
  void note_tables_of(JOIN *join);
  void close();

  // execute_plan.cc
  void give_to(THD *thd);
  void prepare_locks() const;
  bool run(THD *thd);
  bool run_union(THD *thd);
  std::optional<NotNow> outcome(THD *thd, bool ran, uint64_t rows_max) const;
  void count(THD *thd) const;

  THD *const home_;
  bool as_said_ = false;  // it is not to be executed
  PlanMemory memory_;
  PlanMemory run_memory_;  // memory of an execution after the first, until its end
  Query_arena arena_;
  LEX lex_;
  bool begun_ = false;  // lex_ has to be ended
  RowSink *sink_ = nullptr;
  FormLock lock_ = FormLock::none;  // of rows
  std::vector<JOIN *> joins_;       // of all SELECTs of a UNION, or the only one
  bool is_union_ = false;
  PlanTables tables_;
  VaryingValues values_;
  IndexChoices indexes_;
  Subqueries subqueries_;
  DerivedTables derived_;
  ScratchTables scratch_;  // also derived ones
  RenewedRanges ranges_;
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
