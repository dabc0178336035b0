#include "engine/mariadb/hosted/planned/server.h"

#include <algorithm>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/planned/join_plan.h"

namespace postern::mariadb {
namespace {

/// Of rows in tables on the disk, as the statistics have their length. The rows are written on the worker's thread.
constexpr uint64_t disk_bytes_max = 4U << 20U;
constexpr uint64_t disk_rows_min = 64;

/// As such a table counts among a worker's plans: far more than its buffers, for it has two descriptors, too.
constexpr size_t disk_table_bytes = size_t{512} << 10U;

/// Aria writes more than the rows alone.
constexpr uint64_t disk_file_max = 2 * disk_bytes_max;

bool is_on_disk(const TABLE &table) {
  return table.s->db_type() != heap_hton;
}

/// Statistics do not say how much longer than the others single rows are.
bool is_long(TABLE *table) {
  if (table == nullptr || !table->is_created() || !is_on_disk(*table)) return false;
  table->file->info(HA_STATUS_VARIABLE);
  return table->file->stats.data_file_length > disk_file_max;
}

}  // namespace

bool JoinPlan::weeds_out_on_disk(const JOIN &join) {
  List_iterator_fast<TABLE> all(const_cast<List<TABLE> &>(join.sj_tmp_tables));
  while (const TABLE *const one = all++)
    if (is_on_disk(*one)) return true;
  return false;
}

/// Where the bytes of files are bounded, sessions would have to hand over those of tables: that is not done.
bool JoinPlan::may_keep_scratch(const TABLE &table) {
  return !is_on_disk(table) || !compat::bounds_files(table.in_use->status_var);
}

void JoinPlan::note_scratch(TABLE *table) {
  scratch_.push_back({.table = table, .on_disk = is_on_disk(*table)});
}

void JoinPlan::note_weeded_out() {
  const auto note = [this](JOIN &join) {
    List_iterator_fast<TABLE> all(join.sj_tmp_tables);
    while (TABLE *const one = all++) weeded_out_.push_back(one);
  };
  for (JOIN *const join : joins_) note(*join);
  for (const Subquery &one : subqueries_) note(*one.join);
  for (const Derived &one : derived_) note(*one.join);
}

/// Aria has no bound on bytes that would not be logged as an error.
void JoinPlan::limit_scratch() {
  if (scratch_bytes() == 0) return;
  uint64_t row = 1;
  for (const TABLE *const table : tables_) row += table->file->stats.mean_rec_length;
  scratch_rows_max_ = std::max(disk_bytes_max / row, disk_rows_min);
}

size_t JoinPlan::scratch_bytes() const {
  const auto tables =
      std::ranges::count_if(scratch_, &Scratch::on_disk) + std::ranges::count_if(distinct_, [](const Distinct &one) {
        return one.table != nullptr && is_on_disk(*one.table);
      });
  return disk_table_bytes * static_cast<size_t>(tables);
}

/// Aria looks for the end of the stack in what the thread has that opened the table, unless it hears of another one.
void JoinPlan::take_scratch(THD *thd) const {
  const auto take = [thd](TABLE *table) {
    if (table != nullptr && table->is_created() && is_on_disk(*table)) table->file->ha_external_lock(thd, F_WRLCK);
  };
  for (const Scratch &one : scratch_) take(one.table);
  for (const Distinct &one : distinct_) take(one.table);
}

/// One that has grown onto the disk would begin there the next time, and files do not get shorter.
bool JoinPlan::scratch_has_outgrown() const {
  return std::ranges::any_of(scratch_,
                             [](const Scratch &one) {
                               return one.on_disk ? is_long(one.table)
                                                  : one.table->file != nullptr && is_on_disk(*one.table);
                             }) ||
         std::ranges::any_of(distinct_, [](const Distinct &one) { return is_long(one.table); }) ||
         std::ranges::any_of(weeded_out_, [](const TABLE *one) { return is_on_disk(*one); });
}

/// The server counts those that the first execution makes. The tables of DISTINCT were made with the plan.
void JoinPlan::count_scratch(STATUS_VAR &counts) const {
  counts.created_tmp_tables_ += distinct_.size();
  counts.created_tmp_disk_tables_ += static_cast<ulong>(std::ranges::count_if(
      distinct_, [](const Distinct &one) { return one.table != nullptr && is_on_disk(*one.table); }));
  if (!executed_) return;
  counts.created_tmp_tables_ += scratch_.size();
  counts.created_tmp_disk_tables_ += static_cast<ulong>(std::ranges::count_if(scratch_, &Scratch::on_disk));
}

}  // namespace postern::mariadb
