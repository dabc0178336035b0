// characters.h: the meaning of a character where a token of SQL begins, and which characters words have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace postern::sqldoor {

/// By what a token may begin with.
enum class Char : uint8_t {
  refused,    // not in statements that are read here, or not worth it
  blank,      // the server's lexer skips it
  letter,     // part of a name or a word
  digit,      // part of a name, a word or a number
  backquote,  // around a name
  quote,      // '
  double_quote,
  slash,
  minus,
  point,
  open,
  close,
  comma,
  semicolon,
  compares,  // = < > !
  at,        // before the name of a user's variable
  other,     // stands for itself
};

constexpr std::array<Char, 256> make_chars() {
  std::array<Char, 256> chars{};  // refused: controls, ? : # \ [ ] { } ^ ~
  for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'}) chars[static_cast<uint8_t>(c)] = Char::blank;
  for (int c = 'a'; c <= 'z'; ++c) chars[c] = Char::letter;
  for (int c = 'A'; c <= 'Z'; ++c) chars[c] = Char::letter;
  chars['_'] = chars['$'] = Char::letter;
  for (int c = 0x80; c <= 0xff; ++c) chars[c] = Char::letter;
  for (int c = '0'; c <= '9'; ++c) chars[c] = Char::digit;
  chars['`'] = Char::backquote;
  chars['\''] = Char::quote;
  chars['"'] = Char::double_quote;
  chars['/'] = Char::slash;
  chars['-'] = Char::minus;
  chars['.'] = Char::point;
  chars['('] = Char::open;
  chars[')'] = Char::close;
  chars[','] = Char::comma;
  chars[';'] = Char::semicolon;
  chars['='] = chars['<'] = chars['>'] = chars['!'] = Char::compares;
  chars['@'] = Char::at;
  for (const char c : {'*', '+', '%', '&', '|'}) chars[static_cast<uint8_t>(c)] = Char::other;
  return chars;
}

inline constexpr std::array<Char, 256> chars = make_chars();

constexpr std::array<bool, 256> make_parts_of_words() {
  std::array<bool, 256> parts{};
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = chars[i] == Char::letter || chars[i] == Char::digit;
  return parts;
}

inline constexpr std::array<bool, 256> parts_of_words = make_parts_of_words();

inline Char kind(char c) {
  return chars[static_cast<uint8_t>(c)];
}

inline bool is_part_of_word(char c) {
  return parts_of_words[static_cast<uint8_t>(c)];
}

}  // namespace postern::sqldoor
