#include "engine/sql/plans/plan_values.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/bytes.h"

namespace postern::sql {
namespace {

constexpr uint64_t row_count_max = uint64_t{1} << 31;

void append_quoted(std::string &text, Bytes value, bool backslash_escapes) {
  text += '\'';
  for (const char one : value) {
    if (one == '\'' || (one == '\\' && backslash_escapes)) text += one;
    text += one;
  }
  text += '\'';
}

}  // namespace

uint64_t limit_class(uint64_t rows) {
  return std::bit_ceil(rows);
}

bool is_row_count(const Value &value, uint64_t &rows) {
  if (value.kind() == Value::Kind::natural) rows = value.natural();
  else if (value.kind() == Value::Kind::integer && value.integer() >= 0) rows = static_cast<uint64_t>(value.integer());
  else return false;
  // Nobody counts as far as that: LIMIT 18446744073709551615 is how programs ask for an OFFSET alone.
  rows = std::min(rows, row_count_max);
  return true;
}

bool is_decimal(const Value &value) {
  return value.kind() == Value::Kind::bytes && value.spelling() == Value::Spelling::decimal;
}

bool is_beyond(const Value &value) {
  return value.kind() == Value::Kind::natural && value.natural() > static_cast<uint64_t>(INT64_MAX);
}

uint64_t hash_of_values(std::span<const Value> values) {
  uint64_t hash = values.size() + 1;
  for (const Value &value : values) {
    uint64_t one = 0;
    if (value.kind() == Value::Kind::integer) one = static_cast<uint64_t>(value.integer());
    if (value.kind() == Value::Kind::natural) one = value.natural();
    if (value.kind() == Value::Kind::bytes) one = std::hash<Bytes>{}(value.bytes());
    hash = (hash ^ one) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29U;
  }
  return hash;
}

bool append_literal(std::string &text, const Value &value, LiteralRules rules) {
  switch (value.kind()) {
    case Value::Kind::null: return false;
    case Value::Kind::integer: text += std::to_string(value.integer()); return true;
    case Value::Kind::natural: text += std::to_string(value.natural()); return true;
    case Value::Kind::bytes: break;
  }
  const Bytes bytes = value.bytes();
  switch (value.spelling()) {
    case Value::Spelling::decimal:
    case Value::Spelling::real: text.append(bytes); return true;
    case Value::Spelling::binary: return false;
    case Value::Spelling::text: break;
  }
  const bool is_ascii = std::ranges::all_of(bytes, [](char one) { return one > 0; });
  if (bytes.find('\0') != Bytes::npos || (!rules.any_byte && !is_ascii)) return false;
  append_quoted(text, bytes, rules.backslash_escapes);
  return true;
}

}  // namespace postern::sql
