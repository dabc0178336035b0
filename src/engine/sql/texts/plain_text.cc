#include "engine/sql/texts/plain_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace postern::sql {
namespace {

constexpr Bytes date_form = "0000-00-00";
constexpr Bytes datetime_form = "0000-00-00 00:00:00";

bool is_decimal_digit(char one) {
  return one >= '0' && one <= '9';
}

/// True if the text is made as the form is: 0 stands for a digit, everything else for itself.
bool has_form(Bytes text, Bytes form) {
  return text.size() == form.size() && std::equal(text.begin(), text.end(), form.begin(), [](char a, char b) {
           return b == '0' ? is_decimal_digit(a) : a == b;
         });
}

}  // namespace

bool is_plain_integer(Bytes text, int64_t &number) {
  constexpr size_t digits_max = 15;
  const Bytes digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.size() > digits_max || (digits[0] == '0' && text != "0")) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

Written written(Bytes literal, Bytes &inside) {
  inside = literal;
  const size_t quote = literal.find('\'');
  if (quote == Bytes::npos) return Written::number;
  inside = literal.substr(quote + 1, literal.size() - quote - 2);
  switch (literal[0]) {
    case 'D':
    case 'd': return Written::date;
    case 'T':
    case 't': return Written::timestamp;
    default: return Written::unicode;
  }
}

bool is_integer_as_written(const Value &value, int64_t &number) {
  constexpr double exact_end = 1e15;
  const bool is_number = value.spelling() == Value::Spelling::real || value.spelling() == Value::Spelling::decimal;
  if (value.kind() != Value::Kind::bytes || !is_number) return false;
  const Bytes text = value.bytes();
  double told = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), told);
  if (error != std::errc{} || end != text.data() + text.size() || !(told > -exact_end && told < exact_end))
    return false;
  // A fraction too small for a double is still one.
  const size_t point = text.find('.');
  const bool is_whole = point == Bytes::npos || text.find_first_not_of('0', point + 1) == Bytes::npos;
  number = static_cast<int64_t>(told);
  return is_whole && static_cast<double>(number) == told;
}

bool is_plain_date(Bytes text) {
  return has_form(text, date_form) && !text.starts_with("0000") && text.substr(5, 2) != "00" &&
         text.substr(8, 2) != "00";
}

bool is_plain_datetime(Bytes text, uint32_t decimals) {
  if (!has_form(text.substr(0, datetime_form.size()), datetime_form) ||
      !is_plain_date(text.substr(0, date_form.size())))
    return false;
  const Bytes fraction = text.substr(datetime_form.size());
  if (fraction.empty()) return true;
  return fraction[0] == '.' && fraction.size() > 1 && fraction.size() - 1 <= decimals &&
         std::all_of(fraction.begin() + 1, fraction.end(), is_decimal_digit);
}

bool is_plain_uuid(Bytes text) {
  const auto is_hex = [](char one) { return std::isxdigit(static_cast<unsigned char>(one)) != 0; };
  if (text.size() == 32) return std::ranges::all_of(text, is_hex);
  if (text.size() != 36) return false;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool is_hyphen = at == 8 || at == 13 || at == 18 || at == 23;
    if (is_hyphen ? text[at] != '-' : !is_hex(text[at])) return false;
  }
  return true;
}

}  // namespace postern::sql
