// scratch_tables.h: ScratchTables, the temporary tables that a plan keeps between executions, those of its sums of
// distinct values included.
//
// One with columns as long as a TEXT is kept on the disk from the beginning, by Aria.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/mariadb/hosted/planned/forms/server.h"

namespace postern::mariadb {

/// Owned by a plan; the tables are its JOINs'.
class ScratchTables {
 public:
  /// Whether it may be kept between executions.
  static bool may_keep(const TABLE &table);

  /// Whether the JOIN keeps rowids that a semi-join has found on the disk.
  static bool weeds_out_on_disk(const JOIN &join);

  void note(TABLE *table);
  /// Notes the tables of rowids that the JOIN's semi-joins have found; each execution empties them.
  void note_weeded_out(JOIN &join);
  /// Makes the keys of the JOIN's sorts of rows of a table. The server makes them in the first of these sorts and keeps
  /// them, and that sort may come late: in a subquery, or behind a condition that needs no row and is not true at
  /// first.
  static void make_sort_keys(THD *home, JOIN &join);
  /// Notes COUNT(DISTINCT ...) and GROUP_CONCAT().
  void note_sums(const JOIN &join);
  /// Once all are noted: bounds the rows of an execution, which reads `tables`.
  void limit_rows(std::span<TABLE *const> tables);
  uint64_t rows_max() const { return rows_max_; }
  /// Their approximate memory.
  size_t bytes() const;

  void give_to(THD *thd);
  /// Before an execution on this thread.
  void take(THD *thd) const;
  /// Empties the sums.
  void clear_sums() const;
  bool have_outgrown() const;
  /// Counts them as the server does. `executed`: the first execution has made them.
  void count(STATUS_VAR &counts, bool executed) const;

 private:
  struct Scratch {
    TABLE *table = nullptr;
    bool on_disk = false;
  };

  /// COUNT(DISTINCT ...) or GROUP_CONCAT(), and the table that builds its keys.
  struct Distinct {
    Item_sum *sum = nullptr;
    TABLE *table = nullptr;
  };

  size_t distinct_on_disk() const;

  std::vector<Scratch> scratch_;
  std::vector<Distinct> distinct_;
  std::vector<TABLE *> weeded_out_;  // rowids that semi-joins have found
  uint64_t rows_max_ = UINT64_MAX;
};

}  // namespace postern::mariadb
