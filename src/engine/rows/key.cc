#include "engine/server/server.h"

#include "engine/rows/key.h"

#include "engine/rows/charsets.h"
#include "engine/rows/integer_type.h"
#include "engine/server/convert.h"
#include "engine/server/differences.h"

namespace postern::rows {
namespace {

const Value &value_at(std::span<const Value> values, uint32_t part, uint32_t in_part, const Value *in_value) {
  return in_value != nullptr && part == in_part ? *in_value : values[part];
}

/// Integers are built without the detour through the record, which is most of the work of a lookup by id.
bool build_integer_part(const KEY_PART_INFO &part, Bytes text, uchar *to) {
  const sql::IntegerType type = integer_type(part.field);
  uint64_t number = 0;
  if (type.bytes == 0 || !sql::parse_short_natural(text, number)) return false;
  const uint32_t bits = type.bits();
  if (bits < 64 && number >> bits != 0) return false;
  std::memcpy(to, &number, type.bytes);  // little-endian, like the key
  return true;
}

/// The index holds a prefix of the column, and the value is longer. A value that is not is compared on the prefix
/// alone, as clients have always known it.
bool is_longer_than_part(const KEY_PART_INFO &part, Bytes text) {
  if (!(part.key_part_flag & HA_PART_KEY_SEG)) return false;
  const auto *const charset = part.field->charset();
  return charset->cset->numchars(charset, text.data(), text.data() + text.size()) > part.length / charset->mbmaxlen;
}

/// VARCHAR in a character set in which every byte string is well-formed or can be checked at once.
bool build_varchar_part(const KEY_PART_INFO &part, Bytes text, uchar *to) {
  const Field *const field = part.field;
  if (field->real_type() != MYSQL_TYPE_VARCHAR || part.key_part_flag & HA_PART_KEY_SEG) return false;
  const auto *const charset = field->charset();
  if (text.size() > part.length || text.size() > field->char_length()) return false;
  if (charset != &my_charset_bin) {
    if (charset->mbminlen != 1 || charset->state & MY_CS_NONASCII) return false;
    for (const char byte : text)
      if (static_cast<signed char>(byte) < 0) return false;
  }
  int2store(to, static_cast<uint16>(text.size()));
  std::memcpy(to + HA_KEY_BLOB_LENGTH, text.data(), text.size());
  std::memset(to + HA_KEY_BLOB_LENGTH + text.size(), 0, part.length - text.size());
  return true;
}

/// Fast path for common values; false: use build_part().
bool build_plain_part(const KEY_PART_INFO &part, Bytes text, uchar *to) {
  if (part.null_bit != 0) *to++ = 0;
  return build_integer_part(part, text, to) || build_varchar_part(part, text, to);
}

/// Builds the part from any value but NULL; `whole_values` if the index does not know the rows' order.
Fit build_part(THD *thd, OpenTable &table, const KEY_PART_INFO &part, Bytes text, bool range, uchar *to,
               bool &whole_values) {
  Field *const field = table.table->field[part.fieldnr - 1];
  std::string converted;
  if (!in_charset(table, *field, text, converted)) return Fit::unfit;
  const Fit fit = range ? place(thd, field, text) : store(thd, field, text);
  whole_values =
      fit == Fit::as_text || (range ? part.key_part_flag & HA_PART_KEY_SEG : is_longer_than_part(part, text));
  if (fit == Fit::unfit || fit == Fit::as_text) return fit;
  KEY one_part = table.key_info();  // copy_key() copies from the first part on
  one_part.key_part = const_cast<KEY_PART_INFO *>(&part);
  copy_key(to, table.table->record[0], one_part, part.store_length);
  return fit;
}

}  // namespace

bool in_charset(const OpenTable &table, const Field &field, Bytes &text, std::string &room) {
  const CHARSET_INFO *const charset = table.spec->unicode ? foreign_charset(field) : nullptr;
  if (charset == nullptr) return true;
  if (!from_unicode(charset, text, room)) return false;
  text = room;
  return true;
}

void build_key(THD *thd, OpenTable &table, std::span<const Value> values, Comparison comparison, uint32_t in_part,
               const Value *in_value, std::vector<uchar> &room, KeyStart &start) {
  KEY &key = table.key_info();
  const bool range = comparison != Comparison::equal;
  start = {.bytes = room.data(), .comparison = comparison, .asked = comparison};
  bool searching = true;  // the parts so far decide where the rows are, not only which
  uchar *to = room.data();
  for (uint32_t i = 0; i < values.size(); ++i) {
    const KEY_PART_INFO &part = key.key_part[i];
    const Value &value = value_at(values, i, in_part, in_value);
    if (searching && !value.is_null() && build_plain_part(part, value.bytes(), to)) {
      start.parts = start.asked_parts = i + 1;
      to += part.store_length;
      start.length = static_cast<uint32_t>(to - room.data());
      continue;
    }
    Fit fit = Fit::exact;
    bool whole_values = false;
    bool counts = true;
    if (!value.is_null()) {
      fit = build_part(thd, table, part, value.bytes(), range, to, whole_values);
    } else if (part.null_bit != 0) {
      *to = 1;
      std::memset(to + 1, 0, part.store_length - 1);
    } else {
      fit = Fit::above;  // all the column's values are, and none is stored
      counts = false;
    }
    if (fit != Fit::exact && !range) {
      start.comparison = Comparison::never;
      return;
    }
    if (whole_values) {
      start.as_text |= key_part_map{1} << i;
      start.recheck = true;
    }
    if (fit == Fit::unfit) {
      counts = false;
      start.asked = descending(comparison) ? Comparison::less : Comparison::greater;
    } else if (fit != Fit::exact && !whole_values) {
      // Nothing lies between the stored and the given value, so the parts after this one decide nothing.
      if (part.key_part_flag & HA_REVERSE_SORT) fit = fit == Fit::below ? Fit::above : Fit::below;
      start.asked = sql::adjusted(comparison, fit);
    }
    if (counts) start.asked_parts = i + 1;
    if (searching && counts && fit != Fit::as_text) {
      start.parts = i + 1;
      start.length += part.store_length;
    }
    searching &= !(whole_values && range);
    if (fit != Fit::exact && !whole_values) break;
    to += part.store_length;
  }
  if (start.asked_parts == 0 && (start.asked == Comparison::greater || start.asked == Comparison::less))
    start.comparison = Comparison::never;
  else if (searching) start.comparison = start.asked;
  else start.comparison = descending(comparison) ? Comparison::at_most : Comparison::at_least;
}

bool row_matches(OpenTable &table, const KeyStart &start, std::span<const Value> values, uint32_t in_part,
                 const Value *in_value) {
  const KEY &key = table.key_info();
  const uchar *image = start.bytes;
  int order = 0;
  for (uint32_t i = 0; i < start.asked_parts && order == 0; ++i) {
    const KEY_PART_INFO &part = key.key_part[i];
    const Value &given = value_at(values, i, in_part, in_value);
    Field *const field = table.table->field[part.fieldnr - 1];
    const bool row_is_null = field->is_null();
    if (row_is_null || given.is_null()) {
      order = static_cast<int>(given.is_null()) - static_cast<int>(row_is_null);
    } else if (start.as_text & key_part_map{1} << i) {
      Bytes text = given.bytes();
      std::string converted;
      in_charset(table, *field, text, converted);  // the key was made of it
      order = compare_as_text(field, text);
    } else {
      order = part.field->key_cmp(image + (part.null_bit != 0 ? 1 : 0), part.length);
    }
    if (part.key_part_flag & HA_REVERSE_SORT) order = -order;
    image += part.store_length;
  }
  switch (start.asked) {
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

}  // namespace postern::rows
