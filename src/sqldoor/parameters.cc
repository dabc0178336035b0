#include "sqldoor/parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace postern::sqldoor {
namespace {

/// The server allows no statement with more.
constexpr uint32_t parameters_max = 65'535;

/// enum_field_types on the wire. The server takes a value of type 9 or 13, MEDIUMINT or YEAR, for NULL, and reads its
/// bytes as the next one's.
enum Type : uint8_t {
  tiny = 1,
  small = 2,
  usual = 3,
  single_float = 4,
  double_float = 5,
  null = 6,
  timestamp = 7,
  large = 8,
  date = 10,
  time = 11,
  datetime = 12,
  varchar = 15,
  decimal = 246,
  tiny_blob = 249,
  medium_blob = 250,
  long_blob = 251,
  blob = 252,
  var_string = 253,
  string = 254,
};
constexpr uint8_t unsigned_flag = 0x80;
/// No DECIMAL has more digits.
constexpr size_t decimal_bytes_max = 67;

uint64_t little_endian(Bytes bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- != 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

/// Takes bytes from the front; fails if there are too few.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  bool take(size_t count, Bytes &taken) {
    if (bytes_.size() < count) return false;
    taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return true;
  }
  /// A text after its length.
  bool take_text(Bytes &taken) {
    Bytes length;
    if (!take(1, length)) return false;
    const auto first = static_cast<uint8_t>(length[0]);
    if (first < 251) return take(first, taken);
    const size_t more = first == 252 ? 2 : first == 253 ? 3 : first == 254 ? 8 : 0;
    return more != 0 && take(more, length) && take(little_endian(length), taken);
  }
  Bytes rest() const { return bytes_; }

 private:
  Bytes bytes_;
};

size_t bytes_of_integer(uint8_t type) {
  switch (type) {
    case tiny: return 1;
    case small: return 2;
    case usual: return 4;
    case large: return 8;
    default: return 0;
  }
}

/// JavaScript has only doubles. One without a fraction and below 2^53 compares like the same integer: the server
/// compares doubles, and no two such integers share one. Any other is written in digits that parse to the same double.
template <class Float>
bool read_float(Reader &reader, Arena &arena, Value &value) {
  constexpr double exact_end = 9007199254740992.0;
  Bytes bytes;
  if (!reader.take(sizeof(Float), bytes)) return false;
  Float number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  if (!(number > -exact_end && number < exact_end)) return false;
  const auto integer = static_cast<int64_t>(number);
  // A column may keep the sign of zero.
  if (number == 0 && std::signbit(number)) return false;
  value = Value::of_integer(integer);
  if (static_cast<Float>(integer) == number) return true;
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, static_cast<double>(number));
  value = Value::of_literal(arena.copy({digits, static_cast<size_t>(end - digits)}), Value::Spelling::real);
  return error == std::errc{} && std::abs(number) > 1e-30;
}

/// Digits, perhaps with a point among them and a minus before them. The server decides about other texts, and about a
/// minus before zero.
bool is_decimal(Bytes text) {
  const auto is_digit = [](char one) { return one >= '0' && one <= '9'; };
  const Bytes digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || !is_digit(digits.front()) || !is_digit(digits.back())) return false;
  if (std::ranges::count(digits, '.') > 1) return false;
  if (!std::ranges::all_of(digits, [&](char one) { return one == '.' || is_digit(one); })) return false;
  return digits.size() == text.size() || digits.find_first_not_of("0.") != Bytes::npos;
}

bool read_value(Reader &reader, uint8_t type, bool is_unsigned, Arena &arena, Value &value) {
  Bytes bytes;
  if (type == varchar || type == var_string || type == string) {
    if (!reader.take_text(bytes) || bytes.size() > UINT32_MAX) return false;
    value = Value::of(bytes);
    return true;
  }
  if (type == decimal) {
    if (is_unsigned || !reader.take_text(bytes) || bytes.size() > decimal_bytes_max || !is_decimal(bytes)) return false;
    value = Value::of_literal(bytes, Value::Spelling::decimal);
    return true;
  }
  if (type == single_float) return read_float<float>(reader, arena, value);
  if (type == double_float) return read_float<double>(reader, arena, value);
  const size_t size = bytes_of_integer(type);
  if (size == 0 || !reader.take(size, bytes)) return false;
  const uint64_t number = little_endian(bytes);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
  value = is_unsigned ? Value::of_natural(number) : Value::of_integer(static_cast<int64_t>(number << unused) >> unused);
  return true;
}

/// Whether a parameter without a value may have this type: the server looks at each of them, and refuses some.
bool may_be_null(uint8_t type) {
  switch (type) {
    case tiny:
    case small:
    case usual:
    case single_float:
    case double_float:
    case null:
    case timestamp:
    case large:
    case date:
    case time:
    case datetime:
    case varchar:
    case decimal:
    case tiny_blob:
    case medium_blob:
    case long_blob:
    case blob:
    case var_string:
    case string: return true;
    default: return false;
  }
}

}  // namespace

std::optional<Execution> read_execution(Bytes body, uint32_t parameters) {
  Reader reader(body);
  Execution execution;
  Bytes fixed;
  if (parameters > parameters_max || !reader.take(9, fixed)) return std::nullopt;
  execution.id = static_cast<uint32_t>(little_endian(fixed.substr(0, 4)));
  execution.flags = static_cast<uint8_t>(fixed[4]);
  if (parameters == 0) return reader.rest().empty() ? std::optional(execution) : std::nullopt;
  Bytes bound;
  if (!reader.take((parameters + 7) / 8, execution.nulls) || !reader.take(1, bound)) return std::nullopt;
  if (bound[0] == 1) {
    Bytes types;
    if (!reader.take(size_t{2} * parameters, types)) return std::nullopt;
    execution.types = types;
  } else if (bound[0] != 0) {
    return std::nullopt;
  }
  execution.values = reader.rest();
  return execution;
}

std::optional<std::span<const Value>> read_parameters(Bytes types, Bytes nulls, Bytes values, uint32_t parameters,
                                                      Arena &arena) {
  if (types.size() != size_t{2} * parameters || parameters > parameters_max || nulls.size() < (parameters + 7) / 8)
    return std::nullopt;
  Reader reader(values);
  const std::span<Value> read = arena.array<Value>(parameters);
  for (uint32_t i = 0; i < parameters; ++i) {
    const bool is_null = (static_cast<uint8_t>(nulls[i / 8]) >> (i % 8) & 1) != 0;
    const auto type = static_cast<uint8_t>(types[size_t{2} * i]);
    const auto flags = static_cast<uint8_t>(types[size_t{2} * i + 1]);
    if ((flags & ~unsigned_flag) != 0) return std::nullopt;
    if (is_null ? !may_be_null(type) : !read_value(reader, type, flags != 0, arena, read[i])) return std::nullopt;
  }
  if (!reader.rest().empty()) return std::nullopt;
  return read;
}

}  // namespace postern::sqldoor
