#include "engine/server/server.h"

#include "engine/rows/row.h"

#include <array>
#include <utility>

#include "base/limits.h"
#include "engine/rows/charsets.h"
#include "engine/rows/integer_type.h"
#include "engine/server/differences.h"

namespace postern::rows {
namespace {

enum class Form : uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int24,
  uint24,
  int32,
  uint32,
  int64,
  uint64,
  varchar1,  ///< one byte of length
  varchar2,  ///< two bytes of length
  datetime,  ///< DATETIME without fraction
  blob,      ///< BLOB and TEXT of any length: its size, then where its bytes are
  other,
};

Form form_of(sql::IntegerType type) {
  switch (type.bytes) {
    case 1: return type.is_unsigned ? Form::uint8 : Form::int8;
    case 2: return type.is_unsigned ? Form::uint16 : Form::int16;
    case 3: return type.is_unsigned ? Form::uint24 : Form::int24;
    case 4: return type.is_unsigned ? Form::uint32 : Form::int32;
    default: return type.is_unsigned ? Form::uint64 : Form::int64;
  }
}

Form form_of(const Field *field) {
  if (const sql::IntegerType type = integer_type(field); type.bytes != 0)
    return has_flag(*field, ZEROFILL_FLAG) ? Form::other : form_of(type);
  switch (field->real_type()) {
    case MYSQL_TYPE_VARCHAR:
      if (is_compressed(*field)) return Form::other;
      return field->pack_length() - field->field_length == 1 ? Form::varchar1 : Form::varchar2;
    case MYSQL_TYPE_BLOB: return is_plain_blob(*field) ? Form::blob : Form::other;
    case MYSQL_TYPE_DATETIME2: return field->decimals() == 0 ? Form::datetime : Form::other;
    default: return Form::other;
  }
}

/// "00" to "99".
constexpr std::array<char, 200> digit_pairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<char>('0' + (i % 2 == 0 ? i / 20 : i / 2 % 10));
  return pairs;
}();

/// `number` is below 100.
void two_digits(char *to, unsigned number) {
  std::memcpy(to, &digit_pairs[2 * size_t{number}], 2);
}

/// The five bytes of a DATETIME, big-endian: (year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 |
/// second, plus 2^39. Zero dates come out as zeros by themselves.
Bytes print_datetime(const uchar *from, char *to) {
  const auto packed = static_cast<uint64_t>(mi_uint5korr(from)) - (uint64_t{1} << 39);
  const auto time = static_cast<unsigned>(packed & 0x1ffff);
  const auto day = static_cast<unsigned>(packed >> 17 & 31);
  const auto year_month = static_cast<unsigned>(packed >> 22);
  const unsigned year = year_month / 13;
  two_digits(to, year / 100 % 100);  // whatever a damaged record holds
  two_digits(to + 2, year % 100);
  to[4] = '-';
  two_digits(to + 5, year_month % 13);
  to[7] = '-';
  two_digits(to + 8, day);
  to[10] = ' ';
  two_digits(to + 11, time >> 12);
  to[13] = ':';
  two_digits(to + 14, time >> 6 & 63);
  to[16] = ':';
  two_digits(to + 17, time & 63);
  return {to, 19};
}

/// A BLOB in the server's memory: its size, of so many bytes, then the address.
Bytes blob_at(const uchar *from, uint8_t size_bytes) {
  const char *bytes = nullptr;
  std::memcpy(&bytes, from + size_bytes, sizeof bytes);
  if (bytes == nullptr) return {};
  switch (size_bytes) {
    case 1: return {bytes, *from};
    case 2: return {bytes, uint2korr(from)};
    case 3: return {bytes, uint3korr(from)};
    default: return {bytes, uint4korr(from)};
  }
}

}  // namespace

struct RowReader::Column {
  Form form = Form::other;
  Field *field = nullptr;
  const uchar *at = nullptr;
  const uchar *null_byte = nullptr;  // nullptr: NOT NULL
  uchar null_bit = 0;
  uint8_t size_bytes = 0;  // a blob's
  uint16_t position = 0;
  char text[20];                          // what print_datetime() writes
  String string;                          // what val_str() may write
  const CHARSET_INFO *charset = nullptr;  // to convert from; nullptr: nothing is converted
  String converted;
};

RowReader::RowReader() = default;
RowReader::~RowReader() = default;

void RowReader::bind(TABLE *table, std::span<const uint16_t> columns, bool unicode) {
  converts_ = false;
  columns_ = std::vector<Column>(columns.size());
  values_.assign(columns.size(), Value{});
  for (size_t i = 0; i < columns.size(); ++i) {
    Column &column = columns_[i];
    column.position = columns[i];
    column.field = table->field[columns[i]];
    column.form = form_of(column.field);
    column.at = address_of(*column.field);
    column.null_byte = null_byte_of(*column.field);
    column.null_bit = column.field->null_bit;
    if (unicode) column.charset = foreign_charset(*column.field);
    converts_ = converts_ || column.charset != nullptr;
    if (column.form == Form::blob)
      column.size_bytes = static_cast<uint8_t>(column.field->pack_length() - sizeof(char *));
  }
}

bool RowReader::reads(const TABLE *table) const {
  for (const Column &column : columns_)
    if (table->field[column.position] != column.field || address_of(*column.field) != column.at) return false;
  return true;
}

Row RowReader::read() {
  long_bytes_ = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column &column = columns_[i];
    Value &value = values_[i];
    if (column.null_byte != nullptr && (*column.null_byte & column.null_bit)) {
      value = Value::null();
      continue;
    }
    const uchar *const at = column.at;
    switch (column.form) {
      case Form::int8: value = Value::of_integer(static_cast<int8_t>(*at)); break;
      case Form::uint8: value = Value::of_natural(*at); break;
      case Form::int16: value = Value::of_integer(sint2korr(at)); break;
      case Form::uint16: value = Value::of_natural(uint2korr(at)); break;
      case Form::int24: value = Value::of_integer(sint3korr(at)); break;
      case Form::uint24: value = Value::of_natural(uint3korr(at)); break;
      case Form::int32: value = Value::of_integer(sint4korr(at)); break;
      case Form::uint32: value = Value::of_natural(uint4korr(at)); break;
      case Form::int64: value = Value::of_integer(sint8korr(at)); break;
      case Form::uint64: value = Value::of_natural(uint8korr(at)); break;
      case Form::varchar1: value = Value::of({reinterpret_cast<const char *>(at) + 1, *at}); break;
      case Form::varchar2: value = Value::of({reinterpret_cast<const char *>(at) + 2, uint2korr(at)}); break;
      case Form::datetime: value = Value::of(print_datetime(at, column.text)); break;
      case Form::blob: {
        value = Value::of(blob_at(at, column.size_bytes));
        long_bytes_ += value.bytes().size();
        break;
      }
      case Form::other: {
        const String *const text = column.field->val_str(&column.string);
        value = text != nullptr ? Value::of({text->ptr(), text->length()}) : Value::null();
        if (text != nullptr) long_bytes_ += text->length();
        break;
      }
    }
  }
  if (converts_) convert();
  holds_much_ |= long_bytes_ > limits::find_bytes_fast_max;
  return values_;
}

void RowReader::convert() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column &column = columns_[i];
    if (column.charset == nullptr || values_[i].is_null()) continue;
    values_[i] = Value::of(to_unicode(column.charset, values_[i].bytes(), column.converted));
  }
}

void RowReader::give_back() {
  if (!std::exchange(holds_much_, false)) return;
  for (Column &column : columns_)
    for (String *const string : {&column.string, &column.converted})
      if (string->alloced_length() > limits::block_bytes_min) free_memory(*string);
}

}  // namespace postern::rows
