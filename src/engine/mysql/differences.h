// differences.h: functions for engine/rows that differ between MariaDB and MySQL.
#pragma once

#include "engine/mysql/server.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/bytes.h"
#include "engine/mysql/opening.h"

namespace postern::mysqld {

// --- columns ---------------------------------------------------------------------------------------------------------

inline uint32_t flags_of(const Field &field) {
  return field.all_flags();
}
inline bool has_flag(const Field &field, uint32_t flag) {
  return field.is_flag_set(flag);
}
/// Where its value is in the record.
inline const uchar *address_of(const Field &field) {
  return field.field_ptr();
}
/// The byte with its NULL bit (Field::null_bit) in the record; nullptr: never NULL.
inline const uchar *null_byte_of(const Field &field) {
  return field.is_nullable() ? field.table->record[0] + field.null_offset() : nullptr;
}
inline Bytes name_of(const Field &field) {
  return field.field_name;
}
/// Position in TABLE::field.
inline uint16_t position_of(const Field &field) {
  return field.field_index();
}
/// Whether the column is hidden from SQL.
inline bool is_invisible(const Field &field) {
  return field.is_hidden_by_system();
}
/// The storage engine compresses invisibly.
inline bool is_compressed(const Field &) {
  return false;
}
/// Whether the record points to the text itself. JSON, GEOMETRY and VECTOR have types of their own.
inline bool is_plain_blob(const Field &field) {
  return field.real_type() == MYSQL_TYPE_BLOB;
}
/// Texts and byte strings.
inline bool is_text_column(const Field &field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_STRING:
    case MYSQL_TYPE_BLOB: return true;
    default: return false;
  }
}
/// The character set of a client with utf8mb4; no door on MySQL has one.
inline const CHARSET_INFO *foreign_charset(const Field &) {
  return nullptr;
}
/// Whether texts are compared as if the shorter one were padded with spaces.
inline bool pads_with_spaces(const CHARSET_INFO *charset) {
  return charset->pad_attribute == PAD_SPACE;
}
inline void free_memory(String &string) {
  string.mem_free();
}

/// Length in characters or bytes, for columns that store them unchanged. `type` is Field::real_type().
inline bool holds_given_bytes(const Field &, enum_field_types type) {
  switch (type) {
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_STRING:
    case MYSQL_TYPE_VAR_STRING:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_VECTOR:
    case MYSQL_TYPE_GEOMETRY: return true;
    default: return false;
  }
}
inline const char *name_of(const CHARSET_INFO &charset) {
  return charset.csname;
}

// --- numbers ---------------------------------------------------------------------------------------------------------

/// Parses the number at the beginning of the text, `parsed` bytes. Returns an error of decimal.h.
inline int decimal_of(Bytes text, my_decimal &number, size_t &parsed) {
  const char *end = text.data() + text.size();
  const int error = str2my_decimal(0, text.data(), &number, &end);
  parsed = static_cast<size_t>(end - text.data());
  return error;
}
inline void print_decimal(const my_decimal &number, String &text) {
  my_decimal2string(E_DEC_FATAL_ERROR, &number, &text);
}
/// False if the whole text is not a number.
inline bool parse_real(Bytes text, double &number) {
  const CHARSET_INFO *const charset = &my_charset_latin1;
  const char *end = nullptr;
  int error = 0;
  number = charset->cset->strntod(charset, text.data(), text.size(), &end, &error);
  return error == 0 && !text.empty() && end == text.data() + text.size();
}
/// For String::set_real().
inline constexpr uint as_many_digits_as_needed = DECIMAL_NOT_SPECIFIED;

// --- indexes ---------------------------------------------------------------------------------------------------------

/// Copies the first `bytes` of a record's key.
inline void copy_key(uchar *to, const uchar *record, const KEY &key, uint bytes) {
  key_copy(to, record, &key, bytes);
}
/// The bytes of these parts of a key.
inline uint key_bytes(TABLE &table, uint index, key_part_map parts) {
  return calculate_key_len(&table, index, parts);
}
/// The number of searchable parts of the index, including those of the primary key that the storage engine appends.
inline uint searchable_parts(const TABLE &, const KEY &key) {
  return key.actual_key_parts;
}
/// Reads the first row of a range without an end, as SQL does.
inline int read_range(TABLE &table, const key_range &from) {
  return table.file->ha_read_range_first(&from, nullptr, false, true);
}
/// An estimate of a range's rows.
inline ha_rows estimate(TABLE &table, uint index, key_range from, key_range to) {
  return table.file->records_in_range(index, &from, &to);
}
inline Bytes name_of(const KEY &key) {
  return key.name;
}
/// A JSON array has several values, and clients cannot know the value of an expression.
inline bool serves_lookups(const KEY &key) {
  if (key.flags & (HA_FULLTEXT | HA_SPATIAL | HA_MULTI_VALUED_KEY)) return false;
  for (uint i = 0; i < key.user_defined_key_parts; ++i)
    if (key.key_part[i].field->is_hidden_by_system()) return false;
  return true;
}
/// How many parts of a unique key identify one row; 0: it may match several.
inline uint unique_key_parts(const KEY &key) {
  return key.flags & HA_NOSAME ? key.user_defined_key_parts : 0;
}

// --- changes ---------------------------------------------------------------------------------------------------------

/// Whether KILL has ended the call; InnoDB has no code of its own for that.
inline constexpr int code_of_interruption = HA_ERR_GENERIC;
inline constexpr int code_of_too_large_row = HA_ERR_TOO_BIG_ROW;
/// Whether the code means a duplicate in a unique key.
inline bool is_duplicate(handler &, int code) {
  return code == HA_ERR_FOUND_DUPP_KEY || code == HA_ERR_FOUND_DUPP_UNIQUE;
}
/// Whether handler::dup_ref has the position of a duplicate.
inline bool knows_place_of_duplicate(const handler &file) {
  return (file.ha_table_flags() & HA_DUPLICATE_POS) != 0;
}
/// Reading computes the generated columns. Returns a code of the storage engine.
inline int complete_old_row(TABLE &) {
  return 0;
}
/// Whether the new row has an explicit AUTO_INCREMENT value.
inline void note_id_given(TABLE &table, bool given) {
  table.autoinc_field_has_explicit_non_null_value = given;
}
inline bool has_before_insert_trigger(const TABLE &table) {
  return table.triggers != nullptr && table.triggers->has_triggers(TRG_EVENT_INSERT, TRG_ACTION_BEFORE);
}
inline bool can_roll_back(handler &file) {
  return file.has_transactions();
}
inline void tell(handler &file, ha_extra_function what) {
  file.ha_extra(what);
}
/// Notes a change that cannot be rolled back.
inline void note_change_for_good(THD *thd) {
  thd->get_transaction()->mark_modified_non_trans_table(Transaction_ctx::STMT);
}
/// Nothing: the server does that itself.
inline void note_changes_for_good_in_transaction(THD *) {}
/// Notes that rows of the table have changed.
inline void note_changed(THD *, TABLE *) {}
inline void count_rows_in_statistics(handler &) {}

// --- tables that are written to --------------------------------------------------------------------------------------

using TableRef = Table_ref;

/// Whether inserting a row must be undone as a whole if its last step fails, affects other tables, or needs them.
inline bool inserts_need_own_run(const TABLE &table) {
  return table.triggers != nullptr || table.s->foreign_keys != 0;
}
/// The same for changing or deleting a row, for a table where it is false for inserts.
inline bool edits_need_own_run(const TABLE &table) {
  return table.s->foreign_key_parents != 0;  // rows that refer to this table change with it
}
/// In Table_ref::trg_event_map.
inline uint8_t event_bit(enum_trigger_event_type event) {
  return static_cast<uint8_t>(1U << event);
}
/// The expected changes.
inline void note_events(TableRef &list, uint8_t events) {
  list.trg_event_map = events;
}
/// Opens the list, and the tables and routines that triggers, foreign keys and defaults need; `count`: all tables.
inline bool open_with_all_needed(THD *thd, TableRef *first, uint32_t &count) {
  DML_prelocking_strategy strategy;
  return open_tables(thd, &first, &count, open_flags_without_waiting, &strategy);
}
inline void begin_lex_anew(THD *thd) {
  lex_end(thd->lex);
  start_lex(thd);
}
/// Called after lock_tables() by a statement that continues.
inline void forget_locked_tables(LEX &lex) {
  lex.lock_tables_state = Query_tables_list::LTS_NOT_LOCKED;
}
/// Takes the metadata lock that a commit needs.
inline void name_lock_of_commits(MDL_request &request) {
  MDL_REQUEST_INIT(&request, MDL_key::COMMIT, "", "", MDL_INTENTION_EXCLUSIVE, MDL_EXPLICIT);
}
/// Called at the end of a transaction.
inline void release_all_locks(THD *thd) {
  thd->mdl_context.release_transactional_locks();
}
inline LEX_STRING server_text(Bytes text) {
  return {const_cast<char *>(text.data()), text.size()};
}
/// Whether writes are blocked at present; on MySQL locking tables reports the error.
inline bool refuses_writes(THD *) {
  return false;
}
inline sql::OpenAttempt refusal_of_writes() {
  return {};
}

// --- tables ----------------------------------------------------------------------------------------------------------

inline constexpr int er_no_index = ER_KEY_DOES_NOT_EXITS;

inline bool is_database_name(const std::string &name) {
  return check_db_name(name.data(), name.size()) == Ident_name_check::OK;
}
inline bool is_table_name(const std::string &name) {
  return check_table_name(name.data(), name.size()) == Ident_name_check::OK;
}
/// Changes whenever the server has read the definition again.
inline Bytes definition_of(const TABLE_SHARE &share) {
  return {reinterpret_cast<const char *>(&share.table_map_id), sizeof share.table_map_id};
}
inline bool is_sequence(const TABLE_SHARE &) {
  return false;
}

// --- tables of INFORMATION_SCHEMA ------------------------------------------------------------------------------------

using TableInList = Table_ref;
using Condition = Item;

inline ST_FIELD_INFO number_column(const char *name) {
  return {name, MY_INT64_NUM_DECIMAL_DIGITS, MYSQL_TYPE_LONGLONG, 0, MY_I_S_MAYBE_NULL | MY_I_S_UNSIGNED, "", 0};
}
inline ST_FIELD_INFO text_column(const char *name, uint32_t characters) {
  return {name, characters, MYSQL_TYPE_STRING, 0, MY_I_S_MAYBE_NULL, "", 0};
}
inline ST_FIELD_INFO end_of_columns() {
  return {nullptr, 0, MYSQL_TYPE_NULL, 0, 0, nullptr, 0};
}
/// MySQL has no statement for it.
inline void set_reset(ST_SCHEMA_TABLE &, int (*)()) {}
/// The bytes of so many characters of a UTF-8 text, up to the first invalid one.
inline size_t well_formed_prefix(Bytes text, size_t characters) {
  int error = 0;
  const CHARSET_INFO *const set = system_charset_info;
  return set->cset->well_formed_len(set, text.data(), text.data() + text.size(), characters, &error);
}

// --- threads ---------------------------------------------------------------------------------------------------------

/// Whether KILL ends the thread, not only its statement.
inline bool connection_is_killed(const THD &thd) {
  return thd.killed == THD::KILL_CONNECTION;
}
/// The server's message for an error about two names, in the server's language.
inline std::string message_of(THD *thd, int error, const char *first, const char *second) {
  char text[MYSQL_ERRMSG_SIZE];
  std::snprintf(text, sizeof text, ER_THD(thd, error), first, second);
  return text;
}
inline void forget_error(THD *thd) {
  thd->clear_error();
}
/// Clears the statement's remains in the session.
inline void clear_statement(THD *thd) {
  thd->clear_error();
  thd->get_stmt_da()->reset_condition_info(thd);
  thd->mem_root->ClearForReuse();
}
inline void forget_warnings(THD *thd) {
  if (thd->get_stmt_da()->current_statement_cond_count() != 0) thd->get_stmt_da()->reset_condition_info(thd);
}
/// Makes messages call the next row "row 1".
inline void number_rows_in_warnings_anew(THD *thd) {
  thd->get_stmt_da()->reset_current_row_for_condition();
}
/// The server's error for a function result that exceeds max_allowed_packet.
inline std::string packet_overflow_of(THD *thd, const char *function) {
  char text[MYSQL_ERRMSG_SIZE];
  std::snprintf(text, sizeof text, ER_THD(thd, ER_WARN_ALLOWED_PACKET_OVERFLOWED), function,
                static_cast<long>(thd->variables.max_allowed_packet));
  return text;
}
/// A monotonic clock.
inline uint64_t interval_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace postern::mysqld
