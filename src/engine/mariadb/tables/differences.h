// differences.h: functions for engine/rows that differ between MariaDB and MySQL.
#pragma once

#include "engine/mariadb/basics/server.h"

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/opening.h"

namespace postern::mariadb {

// --- columns ---------------------------------------------------------------------------------------------------------

inline uint flags_of(const Field &field) {
  return field.flags;
}
inline bool has_flag(const Field &field, uint flag) {
  return (field.flags & flag) != 0;
}
/// Where its value is in the record.
inline const uchar *address_of(const Field &field) {
  return field.ptr;
}
/// The byte with its NULL bit (Field::null_bit) in the record; nullptr: never NULL.
inline const uchar *null_byte_of(const Field &field) {
  return field.null_ptr;
}
inline Bytes name_of(const Field &field) {
  return {field.field_name.str, field.field_name.length};
}
/// Position in TABLE::field.
inline uint16_t position_of(const Field &field) {
  return field.field_index;
}
/// Whether the column is hidden from SQL.
inline bool is_invisible(const Field &field) {
  return field.invisible == INVISIBLE_FULL;
}
inline bool is_compressed(const Field &field) {
  return field.compression_method() != nullptr;
}
/// Whether the record points to the text itself. Compressed columns, and types of plugins, say that they are blobs,
/// too, and some of the former have its handler.
inline bool is_plain_blob(const Field &field) {
  const Type_handler *const handler = field.type_handler();
  const bool blob = handler == &type_handler_tiny_blob || handler == &type_handler_blob ||
                    handler == &type_handler_medium_blob || handler == &type_handler_long_blob;
  return blob && !is_compressed(field);
}
/// Texts and byte strings; not types that only look like one to the storage engine, such as UUID.
inline bool is_text_column(const Field &field) {
  for (const Type_handler *const handler : {static_cast<const Type_handler *>(&type_handler_varchar),
                                            static_cast<const Type_handler *>(&type_handler_string),
                                            static_cast<const Type_handler *>(&type_handler_tiny_blob),
                                            static_cast<const Type_handler *>(&type_handler_blob),
                                            static_cast<const Type_handler *>(&type_handler_medium_blob),
                                            static_cast<const Type_handler *>(&type_handler_long_blob)})
    if (field.type_handler() == handler) return true;
  return false;
}
/// The character set of texts that a client with utf8mb4 has to have converted; nullptr: none, or no text.
inline CHARSET_INFO *foreign_charset(const Field &field) {
  const bool is_list = field.real_type() == MYSQL_TYPE_ENUM || field.real_type() == MYSQL_TYPE_SET;
  CHARSET_INFO *const charset = field.charset();
  if (!(is_list || (is_text_column(field) || is_compressed(field))) || charset == &my_charset_bin) return nullptr;
  // Except ascii, although it is a subset of utf8mb4: it accepts any byte as a character.
  const bool same = my_charset_same(charset, &my_charset_utf8mb4_general_ci) ||
                    my_charset_same(charset, &my_charset_utf8mb3_general_ci);
  return same ? nullptr : charset;
}
/// Whether texts are compared as if the shorter one were padded with spaces.
inline bool pads_with_spaces(const CHARSET_INFO *charset) {
  return !(charset->state & MY_CS_NOPAD);
}
inline void free_memory(String &string) {
  string.free();
}

/// Length in characters or bytes, for columns that store them unchanged. `type` is Field::real_type().
inline bool holds_given_bytes(const Field &field, enum_field_types type) {
  switch (type) {
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_VARCHAR_COMPRESSED:
    case MYSQL_TYPE_VAR_STRING:
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_BLOB_COMPRESSED:
    case MYSQL_TYPE_GEOMETRY: return true;
    case MYSQL_TYPE_STRING: return field.type_handler() == &type_handler_string;  // UUID, INET6 report it, too
    default: return false;
  }
}
inline const char *name_of(const CHARSET_INFO &charset) {
  return charset.cs_name.str;
}

// --- numbers ---------------------------------------------------------------------------------------------------------

/// Parses the number at the beginning of the text, `parsed` bytes. Returns an error of decimal.h.
inline int decimal_of(Bytes text, my_decimal &number, size_t &parsed) {
  const char *end = nullptr;
  const int error = str2my_decimal(0, text.data(), text.size(), &my_charset_latin1, &number, &end);
  parsed = static_cast<size_t>(end - text.data());
  return error;
}
inline void print_decimal(const my_decimal &number, String &text) {
  number.to_string(&text);
}
/// False if the whole text is not a number.
inline bool parse_real(Bytes text, double &number) {
  int error = 0;
  char *end = nullptr;
  number = my_charset_latin1.strntod(const_cast<char *>(text.data()), text.size(), &end, &error);
  return error == 0 && !text.empty() && end == text.data() + text.size();
}
/// For String::set_real().
inline constexpr uint as_many_digits_as_needed = NOT_FIXED_DEC;

// --- indexes ---------------------------------------------------------------------------------------------------------

/// Copies the first `bytes` of a record's key.
inline void copy_key(uchar *to, uchar *record, KEY &key, uint bytes) {
  key_copy(to, record, &key, bytes, true);
}
/// The bytes of these parts of a key.
inline uint key_bytes(TABLE &table, uint index, key_part_map parts) {
  return calculate_key_len(&table, index, nullptr, parts);
}
/// The number of searchable parts of the index, including those of the primary key that the storage engine appends.
inline uint searchable_parts(TABLE &table, KEY &key) {
  return table.actual_n_key_parts(&key);
}
/// Reads the first row of a range without an end, as SQL does.
inline int read_range(TABLE &table, const key_range &from) {
  const int code = table.file->read_range_first(&from, nullptr, false, true);
  if (code != 0 || table.vfield == nullptr) return code;
  return table.update_virtual_fields(table.file, VCOL_UPDATE_FOR_READ);
}
/// An estimate of a range's rows.
inline ha_rows estimate(TABLE &table, uint index, const key_range &from, const key_range &to) {
  page_range pages;
  return table.file->records_in_range(index, &from, &to, &pages);
}

inline Bytes name_of(const KEY &key) {
  return {key.name.str, key.name.length};
}
inline bool serves_lookups(const KEY &key) {
  if (compat::is_full_text_or_spatial(key)) return false;
  switch (key.algorithm) {
    case HA_KEY_ALG_FULLTEXT:
    case HA_KEY_ALG_RTREE:
    case HA_KEY_ALG_LONG_HASH: return false;
    default: return true;
  }
}
/// How many parts of a unique key identify one current row; 0: it may match several.
inline uint unique_key_parts(const KEY &key) {
  if (!(key.flags & HA_NOSAME) || key.without_overlaps) return 0;
  const uint parts = key.user_defined_key_parts;
  // The row end is a part of every unique key of a versioned table. For each key, one row is current.
  return parts != 0 && key.key_part[parts - 1].field->vers_sys_field() ? parts - 1 : parts;
}

// --- changes ---------------------------------------------------------------------------------------------------------

/// Whether KILL has ended the call.
inline constexpr int code_of_interruption = HA_ERR_ABORTED_BY_USER;
inline constexpr int code_of_too_large_row = HA_ERR_TO_BIG_ROW;
/// Whether the code means a duplicate in a unique key. is_fatal_error() lets other codes pass, too, such as a missing
/// parent row: those pass without HA_CHECK_DUP as well.
inline bool is_duplicate(handler &file, int code) {
  return !file.is_fatal_error(code, HA_CHECK_ALL) && file.is_fatal_error(code, HA_CHECK_ALL & ~HA_CHECK_DUP);
}
/// Whether handler::dup_ref has the position of a duplicate.
inline bool knows_place_of_duplicate(const handler &file) {
  return (file.ha_table_flags() & HA_DUPLICATE_POS) || file.lookup_errkey != static_cast<uint>(-1);
}
/// Computes the generated columns of the row that was read into record[1]. Returns a code of the storage engine.
inline int complete_old_row(TABLE &table) {
  if (table.vfield == nullptr) return 0;
  table.move_fields(table.field, table.record[1], table.record[0]);
  const int code = table.update_virtual_fields(table.file, VCOL_UPDATE_FOR_REPLACE);
  table.move_fields(table.field, table.record[0], table.record[1]);
  return code;
}
/// Whether the new row has an explicit AUTO_INCREMENT value.
inline void note_id_given(TABLE &table, bool given) {
  table.auto_increment_field_not_null = given;
}
inline bool has_before_insert_trigger(const TABLE &table) {
  return table.triggers != nullptr && table.triggers->has_triggers(TRG_EVENT_INSERT, TRG_ACTION_BEFORE);
}
inline bool can_roll_back(handler &file) {
  return file.has_transactions_and_rollback();
}
inline void tell(handler &file, ha_extra_function what) {
  file.extra(what);
}
/// Notes a change that cannot be rolled back.
inline void note_change_for_good(THD *thd) {
  thd->transaction->stmt.modified_non_trans_table = true;
}

/// Carries the statement's changes of this kind over to its transaction.
inline void note_changes_for_good_in_transaction(THD *thd) {
  if (thd->transaction->stmt.modified_non_trans_table) thd->transaction->all.modified_non_trans_table = true;
}
/// Notes that rows of the table have changed.
inline void note_changed(THD *thd, TABLE *table) {
  query_cache_invalidate3(thd, table, true);
}
inline void count_rows_in_statistics(handler &file) {
  file.update_global_table_stats();
}

// --- tables that are written to --------------------------------------------------------------------------------------

using TableRef = TABLE_LIST;

/// Whether inserting a row must be undone as a whole if its last step fails, affects other tables, or cannot be undone
/// at all. The storage engine itself undoes single rows in all other tables.
inline bool inserts_need_own_run(const TABLE &table) {
  return table.triggers != nullptr || table.versioned() || table.s->long_unique_table || table.s->period.unique_keys ||
         table.internal_tables != nullptr || table.file->partition_ht()->db_type != DB_TYPE_INNODB ||
         !table.file->has_transactions_and_rollback();
}
/// The same for changing or deleting a row, for a table where it is false for inserts.
inline bool edits_need_own_run(const TABLE &table) {
  return table.file->referenced_by_foreign_key();  // rows that refer to this table change with it
}
/// In TABLE_LIST::trg_event_map.
inline uint8_t event_bit(trg_event_type event) {
  return trg2bit(event);
}
/// The expected changes.
inline void note_events(TableRef &list, uint8_t events) {
  list.trg_event_map = events;
  list.for_insert_data = events & trg2bit(TRG_EVENT_INSERT);
}
/// Opens the list, and the tables and routines that triggers, foreign keys and defaults need; `count`: all tables.
inline bool open_with_all_needed(THD *thd, TableRef *first, uint32_t &count) {
  DML_prelocking_strategy strategy;
  return open_tables(thd, DDL_options(), &first, &count, open_flags_without_waiting, &strategy);
}
inline void begin_lex_anew(THD *thd) {
  LEX *const lex = thd->lex;
  lex->unit.cleanup();
  lex_end(lex);
  lex_start(thd);
  lex->sql_command = SQLCOM_SELECT;
}
/// Called after lock_tables() by a statement that continues.
inline void forget_locked_tables(LEX &) {}
/// Takes the metadata lock that a commit needs.
inline void name_lock_of_commits(MDL_request &request) {
  MDL_REQUEST_INIT(&request, MDL_key::BACKUP, "", "", MDL_BACKUP_COMMIT, MDL_EXPLICIT);
}
/// Called at the end of a transaction.
inline void release_all_locks(THD *thd) {
  thd->release_transactional_locks();
}
inline LEX_CSTRING server_text(Bytes text) {
  return {text.data(), text.size()};
}
/// Whether writes are blocked at present; sets the error.
inline bool refuses_writes(THD *thd) {
  return cluster_refuses_writes(thd);
}
inline sql::OpenAttempt refusal_of_writes() {
  return {TableState::failed, Failure::cluster_not_ready, node_not_ready};
}

// --- tables ----------------------------------------------------------------------------------------------------------

inline constexpr int er_no_index = ER_KEY_DOES_NOT_EXISTS;

inline bool is_database_name(const std::string &name) {
  return compat::is_database_name(name);
}
inline bool is_table_name(const std::string &name) {
  return compat::is_table_name(name);
}
/// Changes with every change of the definition; empty: unknown.
inline Bytes definition_of(const TABLE_SHARE &share) {
  return {reinterpret_cast<const char *>(share.tabledef_version.str), share.tabledef_version.length};
}
inline bool is_sequence(const TABLE_SHARE &share) {
  return share.table_type != TABLE_TYPE_NORMAL;
}

// --- tables of INFORMATION_SCHEMA ------------------------------------------------------------------------------------

using TableInList = TABLE_LIST;
using Condition = COND;

inline ST_FIELD_INFO number_column(const char *name) {
  return Show::Column(name, Show::ULonglong(MY_INT64_NUM_DECIMAL_DIGITS), NULLABLE);
}
inline ST_FIELD_INFO text_column(const char *name, uint32_t characters) {
  return Show::Column(name, Show::Varchar(characters), NULLABLE);
}
inline ST_FIELD_INFO end_of_columns() {
  return Show::CEnd();
}
/// Handles FLUSH with the table's name.
inline void set_reset(ST_SCHEMA_TABLE &table, int (*reset)()) {
  table.reset_table = reset;
}
/// The bytes of so many characters of a UTF-8 text, up to the first invalid one.
inline size_t well_formed_prefix(Bytes text, size_t characters) {
  return Well_formed_prefix(system_charset_info, text.data(), text.size(), characters).length();
}

// --- threads ---------------------------------------------------------------------------------------------------------

/// Whether KILL ends the thread, not only its statement.
inline bool connection_is_killed(const THD &thd) {
  return thd.killed >= KILL_CONNECTION;
}
/// The server's message for an error about two names, in the server's language.
inline std::string message_of(THD *thd, int error, const char *first, const char *second) {
  char text[MYSQL_ERRMSG_SIZE];
  my_snprintf(text, sizeof text, ER_THD(thd, error), first, second);
  return text;
}
inline void forget_error(THD *thd) {
  thd->clear_error(true);
}
/// Clears the statement's remains in the session.
inline void clear_statement(THD *thd) {
  if (thd->is_error()) thd->clear_error(true);
  thd->get_stmt_da()->opt_clear_warning_info(thd->query_id);
  free_root(thd->mem_root, MYF(MY_KEEP_PREALLOC));
}
inline void forget_warnings(THD *thd) {
  if (thd->get_stmt_da()->current_statement_warn_count() != 0) thd->get_stmt_da()->clear_warning_info(thd->query_id);
}
/// Makes messages call the next row "row 1".
inline void number_rows_in_warnings_anew(THD *thd) {
  thd->get_stmt_da()->reset_current_row_for_warning(1);
}
/// The server's error for a function result that exceeds max_allowed_packet.
inline std::string packet_overflow_of(THD *thd, const char *function) {
  char text[MYSQL_ERRMSG_SIZE];
  my_snprintf(text, sizeof text, ER_THD(thd, ER_WARN_ALLOWED_PACKET_OVERFLOWED), function,
              static_cast<long>(thd->variables.max_allowed_packet));
  return text;
}
/// A monotonic clock.
inline uint64_t interval_us() {
  return microsecond_interval_timer();
}

}  // namespace postern::mariadb
