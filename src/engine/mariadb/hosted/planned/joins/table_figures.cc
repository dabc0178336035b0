#include "engine/mariadb/hosted/planned/forms/server.h"

#include "engine/mariadb/hosted/planned/joins/table_figures.h"

namespace postern::mariadb {
namespace {

sql::TableStatistics statistics_of(const TABLE &table) {
  sql::TableStatistics all{.rows = table.file->stats.records};
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY &key = table.key_info[i];
    if (key.rec_per_key != nullptr)
      all.rows_of_a_key.insert(all.rows_of_a_key.end(), key.rec_per_key, key.rec_per_key + key.user_defined_key_parts);
  }
  return all;
}

/// The last releases of each series have it.
template <class Table>
bool has_other_histograms(const Table &table) {
  if constexpr (requires { table.stats_cb != table.s->stats_cb; }) return table.stats_cb != table.s->stats_cb;
  else return false;
}

}  // namespace

TableFigures::TableFigures(const TABLE &table) : figures_(statistics_of(table)) {}

bool TableFigures::are_alike(TABLE &table) const {
  return !has_other_histograms(table) && table.file->info(HA_STATUS_VARIABLE | HA_STATUS_CONST) == 0 &&
         figures_.is_like(statistics_of(table));
}

}  // namespace postern::mariadb
