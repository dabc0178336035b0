#include "engine/mariadb/server.h"

#include "engine/mariadb/cursor.h"

namespace postern::mariadb {
namespace {

bool has_null(std::span<const Value> key, const Value *in_value, uint32_t in_part) {
  for (uint32_t i = 0; i < key.size(); ++i)
    if (in_value != nullptr && i == in_part ? in_value->is_null() : key[i].is_null()) return true;
  return false;
}

}  // namespace

Failure check_index(const OpenTable &table, const Find &find) {
  const ulong flags = table.file().index_flags(table.index, 0, true);
  const KEY &key = table.key_info();
  if (find.key.size() > key.user_defined_key_parts) return Failure::too_many_key_parts;
  if (find.key.empty() && find.comparison != Comparison::at_least && find.comparison != Comparison::at_most)
    return Failure::no_key_values;
  if (flags & HA_ONLY_WHOLE_INDEX && find.key.size() < key.user_defined_key_parts) return Failure::index_unusable;
  if (find.comparison != Comparison::equal && !(flags & HA_READ_RANGE)) return Failure::index_unusable;
  if (descending(find.comparison) && !(flags & HA_READ_PREV)) return Failure::index_unusable;
  return Failure::none;
}

bool leads_to_one_row(const OpenTable &table, const Find &find, const KeyStart &start, const Value *in_value) {
  if (in_value != nullptr && find.comparison != Comparison::equal) return true;
  return table.unique && start.comparison == Comparison::equal &&
         start.parts == table.key_info().user_defined_key_parts && !has_null(find.key, in_value, find.in_part);
}

int first_row(OpenTable &table, const KeyStart &start) {
  if (start.parts == 0) {
    handler &file = table.file();
    uchar *const record = table.table->record[0];
    return descending(start.comparison) ? file.ha_index_last(record) : file.ha_index_first(record);
  }
  ha_rkey_function how = HA_READ_KEY_EXACT;
  switch (start.comparison) {
    case Comparison::greater: how = start.recheck ? HA_READ_KEY_OR_NEXT : HA_READ_AFTER_KEY; break;
    case Comparison::at_least: how = HA_READ_KEY_OR_NEXT; break;
    case Comparison::less: how = start.recheck ? HA_READ_PREFIX_LAST_OR_PREV : HA_READ_BEFORE_KEY; break;
    case Comparison::at_most: how = HA_READ_PREFIX_LAST_OR_PREV; break;
    default: break;
  }
  return table.file().ha_index_read_map(table.table->record[0], start.bytes, start.map(), how);
}

int next_row(OpenTable &table, const KeyStart &start, bool from_first_row) {
  handler &file = table.file();
  uchar *const record = table.table->record[0];
  // The storage engine compares keys for us only behind an exact read.
  if (start.comparison == Comparison::equal && from_first_row)
    return file.ha_index_next_same(record, start.bytes, start.length);
  const int code = descending(start.comparison) ? file.ha_index_prev(record) : file.ha_index_next(record);
  return code == 0 && left_key(table, start) ? HA_ERR_END_OF_FILE : code;
}

bool left_key(const OpenTable &table, const KeyStart &start) {
  return start.comparison == Comparison::equal && key_cmp_if_same(table.table, start.bytes, table.index, start.length);
}

}  // namespace postern::mariadb
