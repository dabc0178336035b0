#include "engine/mariadb/server.h"

#include "engine/mariadb/key.h"

#include "engine/mariadb/convert.h"

namespace postern::mariadb {
namespace {

const Value &value_at(std::span<const Value> values, uint32_t part, uint32_t in_part, const Value *in_value) {
  return in_value != nullptr && part == in_part ? *in_value : values[part];
}

/// Integers are built without the detour over the record, which is most of the work of a lookup by id.
bool build_integer_part(const KEY_PART_INFO &part, Bytes text, uchar *to) {
  uint32_t bytes;
  switch (part.field->real_type()) {
    case MYSQL_TYPE_TINY: bytes = 1; break;
    case MYSQL_TYPE_SHORT: bytes = 2; break;
    case MYSQL_TYPE_INT24: bytes = 3; break;
    case MYSQL_TYPE_LONG: bytes = 4; break;
    case MYSQL_TYPE_LONGLONG: bytes = 8; break;
    default: return false;
  }
  const bool is_unsigned = part.field->flags & UNSIGNED_FLAG;
  uint64_t number = 0;
  if (text.size() > 18 || !parse_natural(text, number)) return false;  // signs, fractions, giants: the general way
  const uint32_t bits = bytes * 8 - (is_unsigned ? 0 : 1);
  if (bits < 64 && number >> bits != 0) return false;
  std::memcpy(to, &number, bytes);  // little-endian, like the key
  return true;
}

/// The index holds a prefix of the column, and the value goes on behind it. A value that does not is compared on the
/// prefix alone, as clients have always known it.
bool is_longer_than_part(const KEY_PART_INFO &part, Bytes text) {
  if (!(part.key_part_flag & HA_PART_KEY_SEG)) return false;
  CHARSET_INFO *const charset = part.field->charset();
  return charset->numchars(text.data(), text.data() + text.size()) > part.length / charset->mbmaxlen;
}

/// VARCHAR in a character set in which every byte string is well-formed or can be checked at once.
bool build_varchar_part(const KEY_PART_INFO &part, Bytes text, uchar *to) {
  const Field *const field = part.field;
  if (field->real_type() != MYSQL_TYPE_VARCHAR || part.key_part_flag & HA_PART_KEY_SEG) return false;
  CHARSET_INFO *const charset = field->charset();
  if (text.size() > part.length || text.size() > field->char_length()) return false;
  if (charset != &my_charset_bin) {
    if (charset->mbminlen != 1) return false;
    for (const char byte : text)
      if (static_cast<signed char>(byte) < 0) return false;
  }
  int2store(to, static_cast<uint16>(text.size()));
  std::memcpy(to + HA_KEY_BLOB_LENGTH, text.data(), text.size());
  std::memset(to + HA_KEY_BLOB_LENGTH + text.size(), 0, part.length - text.size());
  return true;
}

}  // namespace

Failure build_key(THD *thd, OpenTable &table, std::span<const Value> values, Comparison comparison, uint32_t in_part,
                  const Value *in_value, std::vector<uchar> &room, KeyStart &start, std::string &message) {
  KEY &key = table.key_info();
  if (values.size() > key.user_defined_key_parts) return Failure::too_many_key_parts;
  start.bytes = room.data();
  start.comparison = comparison;
  start.recheck = false;
  uchar *to = room.data();
  for (uint32_t i = 0; i < values.size(); ++i) {
    const KEY_PART_INFO &part = key.key_part[i];
    const Value &value = value_at(values, i, in_part, in_value);
    Fit fit = Fit::exact;
    if (value.is_null()) {
      if (part.null_bit == 0) {
        if (comparison == Comparison::equal) {
          start.comparison = Comparison::never;
          return Failure::none;
        }
        message = std::string("Column '") + part.field->field_name.str + "' cannot be null";
        return Failure::bad_key_value;
      }
      *to = 1;
      std::memset(to + 1, 0, part.store_length - 1);
    } else {
      uchar *payload = to;
      if (part.null_bit != 0) *payload++ = 0;
      if (!build_integer_part(part, value.bytes(), payload) && !build_varchar_part(part, value.bytes(), payload)) {
        Field *const field = table.table->field[part.fieldnr - 1];
        fit = store(thd, field, value.bytes(), message);
        if (fit == Fit::unfit) {
          if (comparison != Comparison::equal) return Failure::bad_key_value;
          start.comparison = Comparison::never;
          return Failure::none;
        }
        KEY one_part = key;  // key_copy() copies from the first part on
        one_part.key_part = const_cast<KEY_PART_INFO *>(&part);
        key_copy(to, table.table->record[0], &one_part, part.store_length, true);
        start.recheck |= is_longer_than_part(part, value.bytes());
      }
    }
    to += part.store_length;
    start.parts = i + 1;
    if (fit != Fit::exact) {
      // Nothing lies between the stored and the given value, so the parts after this one decide nothing.
      if (part.key_part_flag & HA_REVERSE_SORT) fit = fit == Fit::below ? Fit::above : Fit::below;
      start.comparison = adjusted(comparison, fit);
      break;
    }
  }
  start.length = static_cast<uint32_t>(to - room.data());
  return Failure::none;
}

bool row_matches(OpenTable &table, const KeyStart &start, std::span<const Value> values, uint32_t in_part,
                 const Value *in_value) {
  const KEY &key = table.key_info();
  const uchar *image = start.bytes;
  int order = 0;
  for (uint32_t i = 0; i < start.parts && order == 0; ++i) {
    const KEY_PART_INFO &part = key.key_part[i];
    const Value &given = value_at(values, i, in_part, in_value);
    Field *const field = table.table->field[part.fieldnr - 1];
    const bool row_is_null = field->is_null();
    if (row_is_null || given.is_null()) {
      order = static_cast<int>(given.is_null()) - static_cast<int>(row_is_null);
    } else if (is_longer_than_part(part, given.bytes())) {
      String buffer;
      const String *const text = field->val_str(&buffer);
      order = field->charset()->strnncollsp(text->ptr(), text->length(), given.bytes().data(), given.bytes().size());
    } else {
      order = part.field->key_cmp(image + (part.null_bit != 0 ? 1 : 0), part.length);
    }
    if (part.key_part_flag & HA_REVERSE_SORT) order = -order;
    image += part.store_length;
  }
  switch (start.comparison) {
    case Comparison::equal: return order == 0;
    case Comparison::greater: return order > 0;
    case Comparison::at_least: return order >= 0;
    case Comparison::less: return order < 0;
    case Comparison::at_most: return order <= 0;
    case Comparison::unequal: return order != 0;
    case Comparison::never: return false;
  }
  return false;
}

}  // namespace postern::mariadb
