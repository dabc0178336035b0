#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/planned/joins/plan_context.h"

#include <algorithm>
#include <iterator>

#include "engine/mariadb/basics/compat.h"

namespace postern::mariadb {
namespace {

/// Options of the transaction and the binary log, which change nothing in a SELECT.
constexpr ulonglong options_of_transactions = OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN | OPTION_BIN_LOG |
                                              OPTION_GTID_BEGIN | OPTION_SKIP_REPLICATION | OPTION_LOG_OFF;

}  // namespace

PlanContext::PlanContext(const THD *thd) : numbers{}, objects{} {
  const system_variables &own = thd->variables;
  const auto later = compat::later_variables(own);
  const ulonglong all_numbers[] = {
      own.max_heap_table_size,
      own.tmp_memory_table_size,
      own.tmp_disk_table_size,
      own.optimizer_switch,
      own.sql_mode,
      own.old_behavior,
      own.option_bits & ~options_of_transactions,
      own.join_buff_space_limit,
      own.note_verbosity,
      own.join_buff_size,
      own.sortbuff_size,
      own.optimizer_adjust_secondary_key_costs,
      own.max_join_size,
      own.expensive_subquery_limit,
      own.eq_range_index_dive_limit,
      own.join_cache_level,
      own.max_allowed_packet,
      own.max_length_for_sort_data,
      own.max_sort_length,
      own.optimizer_extra_pruning_depth,
      own.optimizer_join_limit_pref_ratio,
      own.optimizer_prune_level,
      own.optimizer_search_depth,
      own.optimizer_selectivity_sampling_limit,
      own.optimizer_use_condition_selectivity,
      own.use_stat_tables,
      own.read_buff_size,
      own.read_rnd_buff_size,
      own.mrr_buff_size,
      own.div_precincrement,
      own.default_week_format,
      own.max_seeks_for_key,
      own.group_concat_max_len,
      static_cast<ulonglong>(own.old_mode != 0) | static_cast<ulonglong>(own.big_tables != 0) << 1U,
      own.in_subquery_conversion_threshold,
      own.max_error_count,
      later[0],
      later[1],
      later[2],
      later[3]};
  const void *const all_objects[] = {
      own.character_set_client,    own.character_set_results, own.collation_server, own.collation_database,
      own.collation_connection,    own.lc_messages,           own.lc_time_names,    own.time_zone,
      own.character_set_filesystem};
  static_assert(sizeof all_numbers == sizeof numbers && sizeof all_objects == sizeof objects);
  std::ranges::copy(all_numbers, std::begin(numbers));
  std::ranges::copy(all_objects, std::begin(objects));
}

}  // namespace postern::mariadb
