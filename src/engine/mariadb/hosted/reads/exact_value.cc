#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/reads/exact_value.h"

#include <algorithm>
#include <charconv>

#include "engine/mariadb/hosted/reads/resolve_read.h"

namespace postern::mariadb {
namespace {

/// The number that a text stands for whatever it is compared as.
bool plain_integer(Bytes text, int64_t &number) {
  constexpr size_t digits_max = 15;
  const Bytes digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.size() > digits_max || (digits[0] == '0' && text != "0")) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool store_number(Field &field, const Value &value) {
  if (value.kind() == Value::Kind::natural) return field.store(static_cast<longlong>(value.natural()), true) == 0;
  return field.store(static_cast<longlong>(value.integer()), false) == 0;
}

/// Bytes without a character set are compared as such with those of a column, and as something else with a text.
bool store_text(THD *thd, Field &field, Exact exact, const Value &value) {
  const Bytes text = value.bytes();
  CHARSET_INFO *const charset = field.charset();
  const bool is_binary = value.spelling() == Value::Spelling::binary;
  if (is_binary ? charset != &my_charset_bin : !text_is_same(thd, field, text)) return false;
  const size_t characters = charset->numchars(text.data(), text.data() + text.size());
  if (characters > field.char_length()) return false;
  if (exact == Exact::binary_fixed && characters != field.char_length()) return false;
  return field.store(text.data(), text.size(), charset) == 0;
}

/// Whether the text is made as the pattern is: 0 stands for a digit, everything else for itself.
bool has_form(Bytes text, Bytes pattern) {
  return text.size() == pattern.size() && std::equal(text.begin(), text.end(), pattern.begin(), [](char a, char b) {
           return b == '0' ? a >= '0' && a <= '9' : a == b;
         });
}

bool store_time(Field &field, Bytes text, bool with_time) {
  constexpr Bytes date = "0000-00-00";
  constexpr Bytes time = "0000-00-00 00:00:00";
  if (!has_form(text.substr(0, with_time ? time.size() : date.size()), with_time ? time : date)) return false;
  Bytes fraction = text.substr(std::min(text.size(), with_time ? time.size() : date.size()));
  if (!fraction.empty()) {
    if (!with_time || fraction[0] != '.' || fraction.size() == 1 || fraction.size() - 1 > field.decimals())
      return false;
    fraction.remove_prefix(1);
    if (!std::all_of(fraction.begin(), fraction.end(), [](char one) { return one >= '0' && one <= '9'; })) return false;
  }
  if (text.starts_with("0000") || text.substr(5, 2) == "00" || text.substr(8, 2) == "00") return false;
  return field.store(text.data(), text.size(), &my_charset_latin1) == 0;
}

}  // namespace

bool text_is_same(THD *thd, const Field &field, Bytes text) {
  CHARSET_INFO *const connection = thd->variables.collation_connection;
  CHARSET_INFO *const client = thd->variables.character_set_client;
  if (!character_sets_agree(field.charset(), connection, text) || !character_sets_agree(connection, client, text))
    return false;
  if (field.charset() == &my_charset_bin && !my_charset_same(connection, client) &&
      !character_sets_agree(client, connection, text))
    return false;
  return Well_formed_prefix(connection, text.data(), text.size()).length() == text.size();
}

bool store_exactly(THD *thd, Field &field, Exact exact, const Value &value) {
  if (value.is_null()) return false;
  field.set_notnull();
  const bool is_bytes = value.kind() == Value::Kind::bytes;
  const bool is_text = is_bytes && value.spelling() == Value::Spelling::text;
  switch (exact) {
    case Exact::integer: {
      if (!is_bytes) return store_number(field, value);
      int64_t number = 0;
      return is_text && plain_integer(value.bytes(), number) && field.store(number, false) == 0;
    }
    case Exact::decimal: return !is_bytes && store_number(field, value);
    case Exact::text:
    case Exact::binary_fixed: {
      const bool is_literal = is_text || (is_bytes && value.spelling() == Value::Spelling::binary);
      return is_literal && store_text(thd, field, exact, value);
    }
    case Exact::date: return is_text && store_time(field, value.bytes(), false);
    case Exact::datetime: return is_text && store_time(field, value.bytes(), true);
  }
  return false;
}

bool value_of(const FormValue &place, std::span<const Value> arguments, Value &value) {
  switch (place.from) {
    case FormValue::From::argument:
      if (place.argument >= arguments.size()) return false;
      value = arguments[place.argument];
      return true;
    case FormValue::From::integer: value = Value::of_integer(place.integer); return true;
    case FormValue::From::text: value = Value::of(place.text); return true;
    case FormValue::From::null: value = Value::null(); return true;
    case FormValue::From::standard: return false;
  }
  return false;
}

}  // namespace postern::mariadb
