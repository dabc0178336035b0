// differences.h: what engine/rows asks of the server that MariaDB and MySQL have in other forms.
#pragma once

#include "engine/mysql/server.h"

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/bytes.h"

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
/// Where the record says whether it is NULL, by Field::null_bit; nullptr: never.
inline const uchar *null_byte_of(const Field &field) {
  return field.is_nullable() ? field.table->record[0] + field.null_offset() : nullptr;
}
inline Bytes name_of(const Field &field) {
  return field.field_name;
}
/// In TABLE::field.
inline uint16_t position_of(const Field &field) {
  return field.field_index();
}
/// Whether SQL has no name for it.
inline bool is_invisible(const Field &field) {
  return field.is_hidden_by_system();
}
/// The storage engine compresses, out of sight.
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
/// The character set of a client with utf8mb4, which none of the doors here has.
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

// --- indexes ---------------------------------------------------------------------------------------------------------

/// The first `bytes` of the key, of a record.
inline void copy_key(uchar *to, const uchar *record, const KEY &key, uint bytes) {
  key_copy(to, record, &key, bytes);
}
/// How long these parts of a key are.
inline uint key_bytes(TABLE &table, uint index, key_part_map parts) {
  return calculate_key_len(&table, index, parts);
}
/// How many parts of the index can be searched by, with those of the primary key that the storage engine adds after the
/// declared ones.
inline uint searchable_parts(const TABLE &, const KEY &key) {
  return key.actual_key_parts;
}
/// The first row of a range without an end, as SQL reads it.
inline int read_range(TABLE &table, const key_range &from) {
  return table.file->ha_read_range_first(&from, nullptr, false, true);
}
/// About how many rows a range has.
inline ha_rows estimate(TABLE &table, uint index, key_range from, key_range to) {
  return table.file->records_in_range(index, &from, &to);
}
inline Bytes name_of(const KEY &key) {
  return key.name;
}
/// A JSON array has several values, and an expression none that a client could know of.
inline bool serves_lookups(const KEY &key) {
  if (key.flags & (HA_FULLTEXT | HA_SPATIAL | HA_MULTI_VALUED_KEY)) return false;
  for (uint i = 0; i < key.user_defined_key_parts; ++i)
    if (key.key_part[i].field->is_hidden_by_system()) return false;
  return true;
}
/// How many parts of a unique key name one row; 0: they may name several.
inline uint unique_key_parts(const KEY &key) {
  return key.flags & HA_NOSAME ? key.user_defined_key_parts : 0;
}

// --- tables ----------------------------------------------------------------------------------------------------------

inline constexpr int er_no_index = ER_KEY_DOES_NOT_EXITS;

inline bool is_database_name(const std::string &name) {
  return check_db_name(name.data(), name.size()) == Ident_name_check::OK;
}
inline bool is_table_name(const std::string &name) {
  return check_table_name(name.data(), name.size()) == Ident_name_check::OK;
}
/// Another one whenever the server has read the definition anew.
inline Bytes definition_of(const TABLE_SHARE &share) {
  return {reinterpret_cast<const char *>(&share.table_map_id), sizeof share.table_map_id};
}
inline bool is_sequence(const TABLE_SHARE &) {
  return false;
}

// --- threads ---------------------------------------------------------------------------------------------------------

/// KILL of the thread, and not only of its statement.
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

}  // namespace postern::mysqld
