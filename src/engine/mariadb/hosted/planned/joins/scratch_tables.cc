#include "engine/mariadb/hosted/planned/forms/server.h"

#include <algorithm>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/planned/joins/scratch_tables.h"

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

/// The server keeps a sum's aggregator for distinct values, and its table, in private members.
struct ItsAggregator : Item_sum {
  static Aggregator *of(Item_sum &sum) { return sum.*(&ItsAggregator::aggr); }
};

struct ItsList : Item_func_group_concat {
  static TABLE *table_of(Item_sum &sum) { return static_cast<Item_func_group_concat &>(sum).*(&ItsList::table); }
};

template <auto Member>
struct Reveal {
  friend TABLE *&table_of(Aggregator_distinct &aggregator) { return aggregator.*Member; }
};
TABLE *&table_of(Aggregator_distinct &aggregator);
template struct Reveal<&Aggregator_distinct::table>;

}  // namespace

bool ScratchTables::weeds_out_on_disk(const JOIN &join) {
  List_iterator_fast<TABLE> all(const_cast<List<TABLE> &>(join.sj_tmp_tables));
  while (const TABLE *const one = all++)
    if (is_on_disk(*one)) return true;
  return false;
}

/// Where the bytes of files are bounded, sessions would have to hand over those of tables: that is not done.
bool ScratchTables::may_keep(const TABLE &table) {
  return !is_on_disk(table) || !compat::bounds_files(table.in_use->status_var);
}

void ScratchTables::note(TABLE *table) {
  scratch_.push_back({.table = table, .on_disk = is_on_disk(*table)});
}

void ScratchTables::note_weeded_out(JOIN &join) {
  List_iterator_fast<TABLE> all(join.sj_tmp_tables);
  while (TABLE *const one = all++) weeded_out_.push_back(one);
}

void ScratchTables::make_sort_keys(THD *home, JOIN &join) {
  if (join.zero_result_cause != nullptr || join.join_tab == nullptr) return;
  for (JOIN_TAB *tab = first_linear_tab(&join, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(&join, tab, WITH_BUSH_ROOTS))
    if (tab->filesort != nullptr && tab->aggr == nullptr && tab->table != nullptr)
      tab->filesort->make_sortorder(home, &join, tab->table->map);
}

void ScratchTables::note_sums(const JOIN &join) {
  if (join.sum_funcs == nullptr) return;
  for (Item_sum **one = join.sum_funcs; *one != nullptr; ++one) {
    if ((*one)->sum_func() == Item_sum::GROUP_CONCAT_FUNC) {
      distinct_.push_back({.sum = *one, .table = ItsList::table_of(**one)});
      continue;
    }
    Aggregator *const aggregator = ItsAggregator::of(**one);
    if (aggregator == nullptr || aggregator->Aggrtype() != Aggregator::DISTINCT_AGGREGATOR) continue;
    distinct_.push_back({.sum = *one, .table = table_of(static_cast<Aggregator_distinct &>(*aggregator))});
  }
}

void ScratchTables::give_to(THD *thd) {
  for (const Distinct &one : distinct_)
    if (one.table != nullptr) one.table->in_use = thd;
  for (const Scratch &one : scratch_) one.table->in_use = thd;
  for (TABLE *const table : weeded_out_) table->in_use = thd;
}

void ScratchTables::clear_sums() const {
  for (const Distinct &one : distinct_) one.sum->aggregator_clear();
}

/// Aria has no bound on bytes that would not be logged as an error.
void ScratchTables::limit_rows(std::span<TABLE *const> tables) {
  if (bytes() == 0) return;
  uint64_t row = 1;
  for (const TABLE *const table : tables) row += table->file->stats.mean_rec_length;
  rows_max_ = std::max(disk_bytes_max / row, disk_rows_min);
}

size_t ScratchTables::bytes() const {
  return disk_table_bytes *
         (distinct_on_disk() + static_cast<size_t>(std::ranges::count_if(scratch_, &Scratch::on_disk)));
}

size_t ScratchTables::distinct_on_disk() const {
  return static_cast<size_t>(std::ranges::count_if(
      distinct_, [](const Distinct &one) { return one.table != nullptr && is_on_disk(*one.table); }));
}

/// Aria looks for the end of the stack in what the thread has that opened the table, unless it hears of another one.
void ScratchTables::take(THD *thd) const {
  const auto take = [thd](TABLE *table) {
    if (table != nullptr && table->is_created() && is_on_disk(*table)) table->file->ha_external_lock(thd, F_WRLCK);
  };
  for (const Scratch &one : scratch_) take(one.table);
  for (const Distinct &one : distinct_) take(one.table);
}

/// One that has grown onto the disk would begin there the next time, and files do not get shorter.
bool ScratchTables::have_outgrown() const {
  return std::ranges::any_of(scratch_,
                             [](const Scratch &one) {
                               return one.on_disk ? is_long(one.table)
                                                  : one.table->file != nullptr && is_on_disk(*one.table);
                             }) ||
         std::ranges::any_of(distinct_, [](const Distinct &one) { return is_long(one.table); }) ||
         std::ranges::any_of(weeded_out_, [](const TABLE *one) { return is_on_disk(*one); });
}

/// The server counts those that the first execution makes. The tables of DISTINCT were made with the plan.
void ScratchTables::count(STATUS_VAR &counts, bool executed) const {
  counts.created_tmp_tables_ += distinct_.size();
  counts.created_tmp_disk_tables_ += distinct_on_disk();
  if (!executed) return;
  counts.created_tmp_tables_ += scratch_.size();
  counts.created_tmp_disk_tables_ += static_cast<ulong>(std::ranges::count_if(scratch_, &Scratch::on_disk));
}

}  // namespace postern::mariadb
