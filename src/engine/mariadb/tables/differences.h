// differences.h: what engine/rows asks of the server that MariaDB and MySQL have in other forms.
#pragma once

#include "engine/mariadb/basics/server.h"

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "engine/mariadb/basics/compat.h"

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
/// Where the record says whether it is NULL, by Field::null_bit; nullptr: never.
inline const uchar *null_byte_of(const Field &field) {
  return field.null_ptr;
}
inline Bytes name_of(const Field &field) {
  return {field.field_name.str, field.field_name.length};
}
/// In TABLE::field.
inline uint16_t position_of(const Field &field) {
  return field.field_index;
}
/// Whether SQL has no name for it.
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
/// Texts and byte strings; not what only looks like one to the storage engine, as UUID does.
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
  const bool same = my_charset_same(charset, &my_charset_utf8mb4_general_ci) ||
                    my_charset_same(charset, &my_charset_utf8mb3_general_ci) || charset->state & MY_CS_PUREASCII;
  return same ? nullptr : charset;
}
/// Whether texts are compared as if the shorter one were padded with spaces.
inline bool pads_with_spaces(const CHARSET_INFO *charset) {
  return !(charset->state & MY_CS_NOPAD);
}
inline void free_memory(String &string) {
  string.free();
}

// --- indexes ---------------------------------------------------------------------------------------------------------

/// The first `bytes` of the key, of a record.
inline void copy_key(uchar *to, uchar *record, KEY &key, uint bytes) {
  key_copy(to, record, &key, bytes, true);
}
/// How long these parts of a key are.
inline uint key_bytes(TABLE &table, uint index, key_part_map parts) {
  return calculate_key_len(&table, index, nullptr, parts);
}
/// How many parts of the index can be searched by, with those of the primary key that the storage engine adds after the
/// declared ones.
inline uint searchable_parts(TABLE &table, KEY &key) {
  return table.actual_n_key_parts(&key);
}
/// The first row of a range without an end, as SQL reads it.
inline int read_range(TABLE &table, const key_range &from) {
  const int code = table.file->read_range_first(&from, nullptr, false, true);
  if (code != 0 || table.vfield == nullptr) return code;
  return table.update_virtual_fields(table.file, VCOL_UPDATE_FOR_READ);
}
/// About how many rows a range has.
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
/// How many parts of a unique key name one row, of those that are current; 0: they may name several.
inline uint unique_key_parts(const KEY &key) {
  if (!(key.flags & HA_NOSAME) || key.without_overlaps) return 0;
  const uint parts = key.user_defined_key_parts;
  // The end of a row's time is a part of every unique key of a versioned table. Of one key, one row is current.
  return parts != 0 && key.key_part[parts - 1].field->vers_sys_field() ? parts - 1 : parts;
}

// --- tables ----------------------------------------------------------------------------------------------------------

inline constexpr int er_no_index = ER_KEY_DOES_NOT_EXISTS;

inline bool is_database_name(const std::string &name) {
  return compat::is_database_name(name);
}
inline bool is_table_name(const std::string &name) {
  return compat::is_table_name(name);
}
/// Another one after every change of the definition; empty: not known.
inline Bytes definition_of(const TABLE_SHARE &share) {
  return {reinterpret_cast<const char *>(share.tabledef_version.str), share.tabledef_version.length};
}
inline bool is_sequence(const TABLE_SHARE &share) {
  return share.table_type != TABLE_TYPE_NORMAL;
}

// --- threads ---------------------------------------------------------------------------------------------------------

/// KILL of the thread, and not only of its statement.
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

}  // namespace postern::mariadb
