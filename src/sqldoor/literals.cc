#include "sqldoor/literals.h"

#include <algorithm>
#include <array>

namespace postern::sqldoor {
namespace {

constexpr size_t integer_digits_max = 20;
/// No decimal has more digits, and with so small an exponent no double is infinite or zero.
constexpr size_t decimal_digits_max = 60;
constexpr size_t exponent_digits_max = 2;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether it continues a number: part of a name or of another number.
bool goes_on(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '.' ||
         static_cast<unsigned char>(c) >= 0x80;
}

char at(Bytes text, size_t where) {
  return where < text.size() ? text[where] : '\0';
}

size_t digits(Bytes text, size_t from) {
  size_t end = from;
  while (is_digit(at(text, end))) ++end;
  return end - from;
}

constexpr std::array<bool, 256> make_plain() {
  std::array<bool, 256> plain{};
  for (size_t i = 1; i < 0x80; ++i) plain[i] = i != '\'' && i != '"' && i != '\\';
  return plain;
}

/// Characters that mean themselves in every text.
constexpr std::array<bool, 256> plain = make_plain();

/// -1: it is none.
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const int letter = c | 0x20;
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

size_t hex_digits(Bytes text, size_t from) {
  size_t end = from;
  while (hex_digit(at(text, end)) >= 0) ++end;
  return end - from;
}

/// Each byte is written by two digits.
bool take_hex(Bytes digits, std::string &room, Value &value) {
  if (digits.empty() || digits.size() % 2 != 0) return false;
  const size_t start = room.size();
  for (size_t i = 0; i < digits.size(); i += 2)
    room += static_cast<char>(hex_digit(digits[i]) << 4 | hex_digit(digits[i + 1]));
  value = Value::of_literal(Bytes(room).substr(start), Value::Spelling::binary);
  return true;
}

/// The bytes for a backslash and a character. Before a wildcard of LIKE the backslash stays.
void unescape(char c, std::string &room) {
  switch (c) {
    case 'n': room += '\n'; return;
    case 't': room += '\t'; return;
    case 'r': room += '\r'; return;
    case 'b': room += '\b'; return;
    case '0': room += '\0'; return;
    case 'Z': room += '\x1a'; return;
    case '_':
    case '%': room += '\\'; [[fallthrough]];
    default: room += c; return;
  }
}

/// At a fraction or an exponent, after `integer` bytes.
size_t read_real(Bytes text, size_t integer, Value &value) {
  size_t end = integer;
  if (at(text, end) == '.') {
    const size_t fraction = digits(text, end + 1);
    if (fraction == 0) return 0;
    end += 1 + fraction;
  }
  if (end > decimal_digits_max) return 0;
  auto spelling = Value::Spelling::decimal;
  if (at(text, end) == 'e' || at(text, end) == 'E') {
    size_t exponent = end + 1;
    if (at(text, exponent) == '+' || at(text, exponent) == '-') ++exponent;
    const size_t count = digits(text, exponent);
    if (count == 0 || count > exponent_digits_max) return 0;
    end = exponent + count;
    spelling = Value::Spelling::real;
  }
  const Bytes number = text.substr(0, end);
  // A column may keep the sign of zero.
  if (number[0] == '-' && number.substr(0, number.find_first_of("eE")).find_first_of("123456789") == Bytes::npos)
    return 0;
  value = Value::of_literal(number, spelling);
  return goes_on(at(text, end)) ? 0 : end;
}

/// Of digits alone. False: the server makes a decimal of it.
bool take_integer(Bytes digits, bool negative, Value &value) {
  constexpr uint64_t integer_end = uint64_t{1} << 63U;
  uint64_t number = 0;
  for (const char digit : digits) {
    const auto one = static_cast<uint64_t>(digit - '0');
    if (number > (UINT64_MAX - one) / 10) return false;
    number = number * 10 + one;
  }
  if (negative) {
    // -0 is not a useful key; as 0 it would run into the preceding word.
    if (number == 0 || number > integer_end) return false;
    value = Value::of_integer(static_cast<int64_t>(-number));
  } else {
    value = number < integer_end ? Value::of_integer(static_cast<int64_t>(number)) : Value::of_natural(number);
  }
  return true;
}

}  // namespace

size_t read_text(Bytes text, TextRules rules, std::string &room, Value &value) {
  const char quote = text[0];
  const auto odd = [&](char c) {
    return c == '\0' || (static_cast<unsigned char>(c) >= 0x80 && !rules.safe_characters);
  };
  size_t end = 1;
  const auto means_itself = [&](char c) {
    return plain[static_cast<unsigned char>(c)] || (c != quote && c != '\\' && !odd(c));
  };
  while (end < text.size() && means_itself(text[end])) ++end;
  if (end == text.size() || odd(text[end])) return 0;
  if (text[end] == quote && at(text, end + 1) != quote) {
    value = Value::of(text.substr(1, end - 1));
    return end + 1;
  }
  const size_t start = room.size();
  room += text.substr(1, end - 1);
  for (; end < text.size(); ++end) {
    const char c = text[end];
    // No lexer ends the text at a zero byte, but clients do not send them. Clients with characters that may end with a
    // backslash are excluded, too.
    if (odd(c) || (c == '\\' && !rules.safe_characters)) return 0;
    if (c == quote) {
      if (at(text, end + 1) != quote) {
        value = Value::of(Bytes(room).substr(start));
        return end + 1;
      }
      room += text[++end];
    } else if (c == '\\' && rules.backslash_escapes) {
      if (++end == text.size() || odd(text[end])) return 0;
      unescape(text[end], room);
    } else {
      room += c;
    }
  }
  return 0;
}

size_t read_hex_text(Bytes text, std::string &room, Value &value) {
  const size_t count = hex_digits(text, 2);
  if (at(text, 2 + count) != '\'' || !take_hex(text.substr(2, count), room, value)) return 0;
  return count + 3;
}

size_t read_typed_text(Bytes text, TextRules rules, Value &value) {
  const size_t word = text.find('\'');
  if (word == Bytes::npos) return 0;
  const auto is = [&](Bytes name) {
    return std::ranges::equal(text.substr(0, word), name, {}, [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  };
  const bool any_character = is("_UTF8MB4");
  if (!any_character && !is("DATE") && !is("TIMESTAMP") && !is("N") && !is("_UTF8") && !is("_UTF8MB3")) return 0;
  const size_t end = text.find('\'', word + 1);
  if (end == Bytes::npos || at(text, end + 1) == '\'') return 0;
  const bool is_plain = std::ranges::all_of(text.substr(word, end - word), [&](char c) {
    const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
    return c != '\0' && c != '\\' && (is_ascii || (any_character && rules.safe_characters));
  });
  if (!is_plain) return 0;
  value = Value::of_literal(text.substr(0, end + 1), Value::Spelling::real);
  return end + 1;
}

size_t size_of_number(Bytes text) {
  size_t end = digits(text, 0);
  if (at(text, end) == '.') end += 1 + digits(text, end + 1);
  if (at(text, end) == 'e' || at(text, end) == 'E') {
    size_t exponent = end + 1;
    if (at(text, exponent) == '+' || at(text, exponent) == '-') ++exponent;
    const size_t count = digits(text, exponent);
    if (count == 0) return 0;
    end = exponent + count;
  }
  return end == 0 || goes_on(at(text, end)) ? 0 : end;
}

size_t read_number(Bytes text, std::string &room, Value &value) {
  const size_t start = text[0] == '-' ? 1 : 0;
  if (start == 0 && text.starts_with("0x")) {
    const size_t count = hex_digits(text, 2);
    return goes_on(at(text, 2 + count)) || !take_hex(text.substr(2, count), room, value) ? 0 : count + 2;
  }
  const size_t count = digits(text, start);
  const size_t end = start + count;
  if (at(text, end) == '.' || at(text, end) == 'e' || at(text, end) == 'E') return read_real(text, end, value);
  if (count > integer_digits_max || goes_on(at(text, end))) return 0;
  return take_integer(text.substr(start, count), start != 0, value) ? end : 0;
}

}  // namespace postern::sqldoor
