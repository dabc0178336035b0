#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/writes/servers_walk.h"

#include <algorithm>
#include <cstdint>

#include "engine/mariadb/basics/compat.h"

namespace postern::mariadb {
namespace {

/// Whether its index has only the beginning of a text.
bool is_by_prefix(const TABLE &table, const ResolvedRead &walk) {
  return std::ranges::any_of(std::span(table.key_info[walk.index].key_part, walk.parts.size()),
                             [](const KEY_PART_INFO &part) { return (part.key_part_flag & HA_PART_KEY_SEG) != 0; });
}

}  // namespace

/// The server weighs a walk's cost, which is about a row's for each row and an eighth for each range, against that of
/// all rows of the table, of the other walks, and of intersections of walks that have their rows in the order of the
/// primary key. To search two indexes costs more than one row, and may cost less than two.
const ResolvedRead *servers_walk(THD *session, TABLE &table, const ReadForm &form, std::span<const ResolvedRead> walks,
                                 std::span<const Value> values, KeyWalk &walk) {
  constexpr uint64_t rows_scanned = 16;  // cost no less than one row by an index
  if ((session->variables.optimizer_switch & OPTIMIZER_SWITCH_INDEX_MERGE_SORT_INTERSECT) != 0) return nullptr;
  if (compat::has_own_statistics(*table.s)) return nullptr;  // perhaps of fewer rows, which are scanned
  const uint dives_max = session->variables.eq_range_index_dive_limit;
  const ResolvedRead *best = nullptr;
  uint64_t rows = UINT64_MAX;
  uint64_t ranges = 0;
  uint64_t rows_of_others = UINT64_MAX;
  size_t may_intersect = 0;
  for (const ResolvedRead &one : walks) {
    if (!walk.prepare(session, table, form, one, values)) return nullptr;
    if (dives_max != 0 && walk.ranges() >= dives_max) return nullptr;
    if (walk.ranges() == 1 && one.range.empty() && !is_by_prefix(table, one)) ++may_intersect;
    const uint64_t found = one.way == ReadWay::one ? 1 : walk.estimated_rows();
    rows_of_others = std::min(rows_of_others, std::max(found, rows));
    if (found >= rows) continue;
    best = &one;
    rows = found;
    ranges = walk.ranges();
  }
  if (best == nullptr || is_by_prefix(table, *best)) return nullptr;
  table.file->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
  const uint64_t cost = rows + ranges;
  if (cost * rows_scanned > table.file->stats.records) return nullptr;
  if (walks.size() == 1) return best;
  if (rows == 1 && ranges == 1) return rows_of_others > 1 ? best : nullptr;
  return may_intersect < 2 && rows_of_others >= 2 * cost ? best : nullptr;
}

}  // namespace postern::mariadb
