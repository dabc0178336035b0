#include "engine/server/server.h"

#include "engine/rows/names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "base/limits.h"
#include "engine/server/differences.h"
#include "engine/server/failures.h"
#include "engine/server/storage.h"
#include "engine/server/table.h"

namespace postern::rows {
namespace {

bool same_name(Bytes ours, Bytes theirs) {
  const CHARSET_INFO *const charset = &my_charset_utf8mb3_general_ci;
  const auto bytes_of = [](Bytes name) { return reinterpret_cast<const uchar *>(name.data()); };
  return charset->coll->strnncoll(charset, bytes_of(ours), ours.size(), bytes_of(theirs), theirs.size(), false) == 0;
}

bool equals_ignoring_case(Bytes left, Bytes right) {
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// Whether SQL allows such a name. `#mysql50#` would bypass the encoding of file names.
bool name_is_sane(const std::string &name, bool is_database) {
  if (name.empty() || name.size() > NAME_LEN || name.find('\0') != std::string::npos) return false;
  if (name.starts_with("#mysql50#")) return false;
  return is_database ? is_database_name(name) : is_table_name(name);
}

Field *find_field(TABLE *table, Bytes name) {
  for (Field **field = table->field; *field != nullptr; ++field)
    if (same_name(name_of(**field), name)) return is_invisible(**field) ? nullptr : *field;
  return nullptr;
}

/// Resolves names; false with the first unknown one in `unknown`.
bool find_fields(TABLE *table, std::span<const Bytes> names, std::vector<uint16_t> &positions, std::string &unknown) {
  positions.clear();
  for (const Bytes name : names) {
    unknown = name;
    const Field *const field = find_field(table, name);
    if (field == nullptr || positions.size() == limits::columns_max) return false;
    positions.push_back(position_of(*field));
  }
  return true;
}

/// By name, as SQL compares names; else by position.
bool find_index(TABLE *table, const TableSpec &spec, uint32_t &index) {
  for (uint32_t i = 0; i < table->s->keys; ++i) {
    if (same_name(name_of(table->key_info[i]), spec.index)) {
      index = i;
      return true;
    }
  }
  if (spec.index_position < 0 || static_cast<uint32_t>(spec.index_position) >= table->s->keys) return false;
  index = static_cast<uint32_t>(spec.index_position);
  return true;
}

/// The names, quoted, with commas between them.
std::string listed(std::span<const Bytes> names) {
  std::string list;
  for (const Bytes name : names) list.append(list.empty() ? "`" : ",`").append(name).append("`");
  return list;
}

/// Whether the first `key_columns` columns are a NOT NULL key that identifies at most one row.
bool index_is_the_key(const OpenTable &table) {
  const KEY &key = table.key_info();
  const uint32_t parts = unique_key_parts(key);
  if (parts == 0 || parts != table.spec->key_columns || parts > table.columns.size()) return false;
  for (uint32_t i = 0; i < parts; ++i) {
    const KEY_PART_INFO &part = key.key_part[i];
    if (part.fieldnr - 1 != table.columns[i] || part.null_bit != 0 || part.key_part_flag & HA_PART_KEY_SEG)
      return false;
  }
  return true;
}

/// Whether the table is defined as it was when `version` was noted; sets `version` to the current one.
bool same_definition(const TABLE_SHARE &share, std::string &version) {
  const Bytes bytes = definition_of(share);
  if (!bytes.empty() && version == bytes) return true;
  version = bytes;
  return false;
}

OpenAttempt failed(THD *thd, Failure failure, std::string message) {
  forget_error(thd);
  return {TableState::failed, failure, {.message = std::move(message)}};
}

}  // namespace

OpenAttempt may_be_opened(THD *thd, const std::string &database, const std::string &table) {
  for (const char *const schema : {"mysql", "sys", "information_schema", "performance_schema"}) {
    if (!equals_ignoring_case(database, schema)) continue;
    // No table of performance_schema has an index that can be opened; clients have always got this answer.
    if (equals_ignoring_case(schema, "performance_schema"))
      return failed(thd, Failure::no_index, "Tables of performance_schema have no index to read by");
    return failed(thd, Failure::system_schema,
                  "Access denied: '" + database + "' is a system schema and is never opened");
  }
  if (!name_is_sane(database, true) || !name_is_sane(table, false))
    return failed(thd, Failure::no_table, message_of(thd, ER_NO_SUCH_TABLE, database.c_str(), table.c_str()));
  return {};
}

OpenAttempt resolve_names(THD *thd, OpenTable &table) {
  TABLE *const opened = table.table;
  TABLE_SHARE *const share = opened->s;
  if (same_definition(*share, table.definition) && table.resolved && table.reader.reads(opened)) {
    table.find_history();
    return {};
  }
  table.resolved = false;
  const std::string full_name = table.database + "." + table.name;
  if (is_sequence(*share)) return failed(thd, Failure::not_a_base_table, "'" + full_name + "' is a sequence");
  if (share->table_category != TABLE_CATEGORY_USER)
    return failed(thd, Failure::system_schema, "Access denied: '" + full_name + "' is a system table");
  table.engine = storage_engine(*opened);
  if (table.engine == nullptr)
    return failed(thd, Failure::engine_unsupported,
                  "'" + full_name + "' cannot be opened: it is a table of the storage engine " +
                      std::string(storage_engine_name(*opened)));
  const std::string index_name(table.spec->index);
  if (!find_index(opened, *table.spec, table.index))
    return failed(thd, Failure::no_index, message_of(thd, er_no_index, index_name.c_str(), full_name.c_str()));
  if (!serves_lookups(table.key_info()))
    return failed(thd, Failure::index_unusable,
                  "Index '" + index_name + "' of '" + full_name + "' does not support lookups by key");
  std::string unknown;
  if (!find_fields(opened, table.spec->columns, table.columns, unknown) ||
      !find_fields(opened, table.spec->filter_columns, table.filter_columns, unknown))
    return failed(thd, Failure::no_column, message_of(thd, ER_BAD_FIELD_ERROR, unknown.c_str(), full_name.c_str()));
  if (table.spec->key_columns != 0 && !index_is_the_key(table))
    return failed(thd, Failure::index_not_the_key,
                  "Index '" + index_name + "' of '" + full_name + "' is not a unique index on exactly " +
                      std::to_string(table.spec->key_columns) + " of the columns '" + listed(table.spec->columns) +
                      "', from the first, whole and never NULL");

  const KEY &key = table.key_info();
  table.find_history();
  table.unique = key.flags & HA_NOSAME;
  table.key.assign(key.key_length + 1, 0);
  table.reader.bind(opened, table.columns, table.spec->unicode);
  table.resolved = true;
  return {};
}

}  // namespace postern::rows
