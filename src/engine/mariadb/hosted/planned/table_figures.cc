#include "engine/mariadb/hosted/planned/server.h"

#include <algorithm>

#include "engine/mariadb/hosted/planned/table_figures.h"

namespace postern::mariadb {
namespace {

bool is_alike(uint64_t one, uint64_t other) {
  return one <= 2 * other && other <= 2 * one;
}

std::vector<uint64_t> rows_of_a_key(const TABLE &table) {
  std::vector<uint64_t> all;
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY &key = table.key_info[i];
    if (key.rec_per_key != nullptr)
      all.insert(all.end(), key.rec_per_key, key.rec_per_key + key.user_defined_key_parts);
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

TableFigures::TableFigures(const TABLE &table)
    : rows_(table.file->stats.records), rows_of_a_key_(mariadb::rows_of_a_key(table)) {}

bool TableFigures::are_alike(TABLE &table) const {
  return !has_other_histograms(table) && table.file->info(HA_STATUS_VARIABLE | HA_STATUS_CONST) == 0 &&
         is_alike(rows_, table.file->stats.records) &&
         std::ranges::equal(rows_of_a_key_, mariadb::rows_of_a_key(table), is_alike);
}

}  // namespace postern::mariadb
