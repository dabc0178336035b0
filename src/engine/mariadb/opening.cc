#include "engine/mariadb/server.h"

#include "engine/mariadb/opening.h"

#include <algorithm>
#include <cctype>

#include "base/limits.h"
#include "engine/mariadb/compat.h"
#include "engine/mariadb/failures.h"
#include "engine/mariadb/storage.h"
#include "engine/mariadb/table.h"

namespace postern::mariadb {
namespace {

bool same_name(const LEX_CSTRING &ours, Bytes theirs) {
  return my_charset_utf8mb3_general_ci.strnncoll(ours.str, ours.length, theirs.data(), theirs.size()) == 0;
}

bool equals_ignoring_case(Bytes left, Bytes right) {
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// Whether SQL could name a table so at all. `#mysql50#` would let a name step out of the encoding of file names.
bool name_is_sane(const std::string &name, bool is_database) {
  if (name.empty() || name.size() > NAME_LEN || name.find('\0') != std::string::npos) return false;
  if (name.starts_with(MYSQL50_TABLE_NAME_PREFIX)) return false;
  return is_database ? compat::is_database_name(name) : compat::is_table_name(name);
}

/// The server's message for an error about two names, in the server's language.
std::string message_of(THD *thd, int error, const char *first, const char *second) {
  char text[MYSQL_ERRMSG_SIZE];
  my_snprintf(text, sizeof text, ER_THD(thd, error), first, second);
  return text;
}

Field *find_field(TABLE *table, Bytes name) {
  for (Field **field = table->field; *field != nullptr; ++field)
    if (same_name((*field)->field_name, name)) return (*field)->invisible == INVISIBLE_FULL ? nullptr : *field;
  return nullptr;
}

/// Resolves names; false with the first unknown one in `unknown`.
bool find_fields(TABLE *table, std::span<const Bytes> names, std::vector<uint16_t> &positions, std::string &unknown) {
  positions.clear();
  for (const Bytes name : names) {
    unknown = name;
    const Field *const field = find_field(table, name);
    if (field == nullptr || positions.size() == limits::columns_max) return false;
    positions.push_back(field->field_index);
  }
  return true;
}

/// By name, as SQL compares names; else by position.
bool find_index(TABLE *table, const TableSpec &spec, uint32_t &index) {
  for (uint32_t i = 0; i < table->s->keys; ++i) {
    if (same_name(table->key_info[i].name, spec.index)) {
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

bool index_serves_lookups(const KEY &key) {
  if (compat::is_full_text_or_spatial(key)) return false;
  switch (key.algorithm) {
    case HA_KEY_ALG_FULLTEXT:
    case HA_KEY_ALG_RTREE:
    case HA_KEY_ALG_LONG_HASH: return false;
    default: return true;
  }
}

/// Whether the values of the first `key_columns` columns are a key that is never NULL and names one row at most.
bool index_is_the_key(const OpenTable &table) {
  const KEY &key = table.key_info();
  uint32_t parts = key.user_defined_key_parts;
  // The end of a row's time is a part of every unique key of a versioned table. Of one key, one row is current.
  if (parts != 0 && key.key_part[parts - 1].field->vers_sys_field()) --parts;
  if (!(key.flags & HA_NOSAME) || key.without_overlaps) return false;
  if (parts != table.spec->key_columns || parts > table.columns.size()) return false;
  for (uint32_t i = 0; i < parts; ++i) {
    const KEY_PART_INFO &part = key.key_part[i];
    if (part.fieldnr - 1 != table.columns[i] || part.null_bit != 0 || part.key_part_flag & HA_PART_KEY_SEG)
      return false;
  }
  return true;
}

}  // namespace

namespace {

/// Whether the table is defined as it was when `version` was noted, which becomes what it is now.
bool same_definition(const TABLE_SHARE &share, std::string &version) {
  const LEX_CUSTRING &now = share.tabledef_version;
  const Bytes bytes(reinterpret_cast<const char *>(now.str), now.length);
  if (!bytes.empty() && version == bytes) return true;
  version = bytes;
  return false;
}

OpenAttempt failed(THD *thd, Failure failure, std::string message) {
  thd->clear_error(true);
  return {TableState::failed, failure, {.message = std::move(message)}};
}

OpenAttempt failed_as_told(THD *thd) {
  const Failure failure = open_failure(thd);
  return {TableState::failed, failure, take_server_error(thd)};
}

}  // namespace

const unsigned open_flags_without_waiting = MYSQL_OPEN_FAIL_ON_MDL_CONFLICT | MYSQL_OPEN_IGNORE_REPAIR;

std::string table_name(Bytes name) {
  if (lower_case_table_names == 0) return std::string(name);
  CHARSET_INFO *const charset = system_charset_info;
  std::string lower(name.size() * charset->casedn_multiply(), '\0');
  lower.resize(charset->casedn(name.data(), name.size(), lower.data(), lower.size()));
  return lower;
}

OpenAttempt may_be_opened(THD *thd, const std::string &database, const std::string &table) {
  for (const char *const schema : {"mysql", "sys", "information_schema", "performance_schema"}) {
    if (!equals_ignoring_case(database, schema)) continue;
    // No table of performance_schema has an index that could be opened, and that is what clients were always told.
    if (equals_ignoring_case(schema, "performance_schema"))
      return failed(thd, Failure::no_index, "Tables of performance_schema have no index to read by");
    return failed(thd, Failure::system_schema,
                  "Access denied: '" + database + "' is a system schema and is never opened");
  }
  if (!name_is_sane(database, true) || !name_is_sane(table, false))
    return failed(thd, Failure::no_table, message_of(thd, ER_NO_SUCH_TABLE, database.c_str(), table.c_str()));
  return {};
}

void name_table(THD *thd, TABLE_LIST &list, const std::string &database, const std::string &name, thr_lock_type lock) {
  const LEX_CSTRING database_name{database.c_str(), database.size()};
  const LEX_CSTRING table_name{name.c_str(), name.size()};
  list.init_one_table(&database_name, &table_name, nullptr, lock);
  list.required_type = TABLE_TYPE_NORMAL;  // opening a view without this crashes the server
  list.open_type = OT_BASE_ONLY;
  // Spider and Mroonga look here for what they could do in the server's place, a LIMIT or a COUNT: in a SELECT that
  // asks for nothing of the kind. Without any they crash.
  list.select_lex = thd->lex->first_select_lex();
}

OpenAttempt open_without_waiting(THD *thd, TABLE_LIST &list, const std::function<void()> &give_up_all) {
  Open_table_context context(thd, open_flags_without_waiting);
  if (!open_table(thd, &list, &context)) return {};
  if (context.can_recover_from_failed_open()) {
    // The server wants tables closed, or the table's definition fetched anew, before it can be opened.
    thd->clear_error(true);
    give_up_all();
    context.recover_from_failed_open();
    thd->clear_error(true);
    return {TableState::again};
  }
  // The metadata lock was taken before the open failed; kept, it would stand in the way of CREATE TABLE.
  thd->mdl_context.rollback_to_savepoint(context.start_of_statement_svp());
  if (open_found_busy(thd)) {
    take_server_error(thd);
    return {TableState::busy};
  }
  return failed_as_told(thd);
}

void release_locks(THD *thd) {
  if (!thd->in_multi_stmt_transaction_mode()) thd->release_transactional_locks();
}

OpenAttempt failed_lock(THD *thd) {
  if (open_found_busy(thd)) {
    take_server_error(thd);
    return {TableState::busy};
  }
  Failure failure = open_failure(thd);
  if (failure != Failure::interrupted && failure != Failure::read_only) failure = Failure::lock_failed;
  return {TableState::failed, failure, take_server_error(thd)};
}

OpenAttempt resolve_names(THD *thd, OpenTable &table) {
  TABLE *const opened = table.table;
  TABLE_SHARE *const share = opened->s;
  if (same_definition(*share, table.definition) && table.resolved && table.reader.reads(opened)) {
    if (table.versioning_end != nullptr) table.versioning_end = opened->vers_end_field();
    return {};
  }
  table.resolved = false;
  const std::string full_name = table.database + "." + table.name;
  if (share->table_type != TABLE_TYPE_NORMAL)
    return failed(thd, Failure::not_a_base_table, "'" + full_name + "' is a sequence");
  if (share->table_category != TABLE_CATEGORY_USER)
    return failed(thd, Failure::system_schema, "Access denied: '" + full_name + "' is a system table");
  table.engine = storage_engine(*opened);
  if (table.engine == nullptr)
    return failed(thd, Failure::engine_unsupported,
                  "'" + full_name + "' cannot be opened: it is a table of the storage engine " +
                      std::string(storage_engine_name(*opened)));
  const std::string index_name(table.spec->index);
  if (!find_index(opened, *table.spec, table.index))
    return failed(thd, Failure::no_index,
                  message_of(thd, ER_KEY_DOES_NOT_EXISTS, index_name.c_str(), full_name.c_str()));
  if (!index_serves_lookups(table.key_info()))
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
  table.versioning_end = share->versioned != VERS_UNDEFINED ? opened->vers_end_field() : nullptr;
  table.unique = key.flags & HA_NOSAME;
  table.key.assign(key.key_length + 1, 0);
  table.reader.bind(opened, table.columns);
  table.resolved = true;
  return {};
}

}  // namespace postern::mariadb
