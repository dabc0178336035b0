#include "engine/server/server.h"

#include "engine/rows/cursor.h"

#include "engine/server/differences.h"
#include "engine/server/storage.h"

namespace postern::rows {
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
  if (find.comparison == Comparison::equal) return Failure::none;
  const Walks walks = table.engine->walks;
  if (!(flags & HA_READ_RANGE) || walks == Walks::none) return Failure::index_unusable;
  if (walks == Walks::both_without_null && key.flags & HA_NULL_PART_KEY) return Failure::index_unusable;
  if (descending(find.comparison) && (!(flags & HA_READ_PREV) || walks == Walks::up)) return Failure::index_unusable;
  return Failure::none;
}

bool leads_to_one_row(const OpenTable &table, const Find &find, const KeyStart &start, const Value *in_value) {
  if (in_value != nullptr && find.comparison != Comparison::equal) return true;
  return table.unique && start.comparison == Comparison::equal &&
         start.parts == table.key_info().user_defined_key_parts && !has_null(find.key, in_value, find.in_part);
}

int read_upwards(OpenTable &table, const uchar *key, uint parts, ha_rkey_function how) {
  TABLE *const server_table = table.table;
  handler &file = *server_table->file;
  const key_part_map map = make_prev_keypart_map(parts);
  if (server_table->part_info == nullptr) return file.ha_index_read_map(server_table->record[0], key, map, how);
  // Where a partition has no such row, index_read() asks it for its next one later on, and with MyISAM, Aria and MEMORY
  // that may be any. SQL reads ranges of partitioned tables in this way, which does not.
  return read_range(*server_table, {key, key_bytes(*server_table, table.index, map), map, how});
}

int first_row(OpenTable &table, const KeyStart &start) {
  if (start.parts == 0) {
    handler &file = table.file();
    uchar *const record = table.table->record[0];
    return descending(start.comparison) ? file.ha_index_last(record) : file.ha_index_first(record);
  }
  ha_rkey_function how = HA_READ_KEY_EXACT;
  switch (start.comparison) {
    case Comparison::greater: return read_upwards(table, start.bytes, start.parts, HA_READ_AFTER_KEY);
    case Comparison::at_least: return read_upwards(table, start.bytes, start.parts, HA_READ_KEY_OR_NEXT);
    case Comparison::less: how = HA_READ_BEFORE_KEY; break;
    case Comparison::at_most: how = HA_READ_PREFIX_LAST_OR_PREV; break;
    default: break;
  }
  return table.file().ha_index_read_map(table.table->record[0], start.bytes, start.map(), how);
}

int next_row(OpenTable &table, const KeyStart &start, bool from_first_row) {
  handler &file = table.file();
  uchar *const record = table.table->record[0];
  // The storage engine compares keys for us only after an exact read.
  if (start.comparison == Comparison::equal && from_first_row)
    return file.ha_index_next_same(record, start.bytes, start.length);
  const int code = descending(start.comparison) ? file.ha_index_prev(record) : file.ha_index_next(record);
  return code == 0 && left_key(table, start) ? HA_ERR_END_OF_FILE : code;
}

int DownByGroups::enter() {
  note_key();
  return read_upwards(table_, key_.data(), table_.key_info().user_defined_key_parts, HA_READ_KEY_OR_NEXT);
}

void DownByGroups::note_key() {
  KEY &key = table_.key_info();
  key_.resize(key.key_length);
  copy_key(key_.data(), table_.table->record[0], key, key.key_length);
}

int DownByGroups::stay() {
  note_key();
  return 0;
}

int DownByGroups::next() {
  const int code = table_.file().ha_index_next(table_.table->record[0]);
  if (code == 0 && !key_cmp_if_same(table_.table, key_.data(), table_.index, table_.key_info().key_length)) return 0;
  if (code != 0 && code != HA_ERR_END_OF_FILE && code != HA_ERR_KEY_NOT_FOUND) return code;
  return enter_before(key_.data());
}

int DownByGroups::enter_before(const uchar *key) {
  const int code = table_.file().ha_index_read_map(table_.table->record[0], key,
                                                   make_prev_keypart_map(table_.key_info().user_defined_key_parts),
                                                   HA_READ_BEFORE_KEY);
  return code == 0 ? enter() : code;
}

bool left_key(const OpenTable &table, const KeyStart &start) {
  return start.comparison == Comparison::equal && key_cmp_if_same(table.table, start.bytes, table.index, start.length);
}

}  // namespace postern::rows
