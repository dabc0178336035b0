#include "engine/sql/texts/tokens.h"

#include <algorithm>

namespace postern::sql {
namespace {

constexpr char small(char one) {
  return one >= 'A' && one <= 'Z' ? static_cast<char>(one | 0x20) : one;
}

bool is_digit(char one) {
  return one >= '0' && one <= '9';
}

bool is_of_word(char one) {
  return (small(one) >= 'a' && small(one) <= 'z') || is_digit(one) || one == '_' || one == '$' ||
         static_cast<unsigned char>(one) >= 0x80;
}

bool is_space(char one) {
  return one == ' ' || (one >= '\t' && one <= '\r');
}

template <typename Is>
size_t end_of(Bytes text, size_t at, Is belongs) {
  while (at < text.size() && belongs(text[at])) ++at;
  return at;
}

/// Ends after `end`, searched from `from` on.
Token comment(Bytes text, size_t at, Bytes end, size_t from) {
  const size_t found = text.find(end, from);
  const bool closed = found != Bytes::npos;
  const size_t to = closed ? found + end.size() : text.size();
  return {Token::Kind::comment, text.substr(at, to - at), at, to, closed};
}

/// In a name a backslash is a letter.
Token quoted(Bytes text, size_t at, Token::Kind kind) {
  const char quote = text[at];
  size_t end = at + 1;
  while (end < text.size() && text[end] != quote) end += text[end] == '\\' && quote != '`' ? 2 : 1;
  const bool closed = end < text.size();
  end = std::min(end, text.size());
  return {kind, text.substr(at + 1, end - at - 1), at, closed ? end + 1 : end, closed};
}

Token word_or_number(Bytes text, size_t at) {
  const size_t digits = end_of(text, at, [](char one) { return is_digit(one) || one == '.'; });
  if (is_digit(text[at]) && (digits == text.size() || !is_of_word(text[digits])))
    return {Token::Kind::number, text.substr(at, digits - at), at, digits};
  const size_t end = end_of(text, at, is_of_word);
  return {Token::Kind::word, text.substr(at, end - at), at, end};
}

}  // namespace

bool is_same_word(Bytes text, Bytes word) {
  return std::ranges::equal(text, word, [](char one, char other) { return small(one) == other; });
}

bool Token::is_word(Bytes word) const {
  return kind == Kind::word && is_same_word(text, word);
}

bool Token::is_word_of(std::span<const Bytes> words) const {
  return kind == Kind::word && std::ranges::any_of(words, [this](Bytes word) { return is_same_word(text, word); });
}

bool Token::is_executed() const {
  return kind == Kind::comment && (text.starts_with("/*!") || text.starts_with("/*M!"));
}

Token token_at(Bytes text, size_t at) {
  at = end_of(text, at, is_space);
  if (at == text.size()) return {.from = at, .to = at};
  const char first = text[at];
  if (is_of_word(first)) return word_or_number(text, at);
  if (first == '\'') return quoted(text, at, Token::Kind::literal);
  if (first == '`') return quoted(text, at, Token::Kind::name);
  if (first == '"') return quoted(text, at, Token::Kind::other);
  const Bytes rest = text.substr(at);
  if (rest.starts_with("/*")) return comment(text, at, "*/", at + 2);
  if (first == '#' || rest.starts_with("-- ")) return comment(text, at, "\n", at);
  return {Token::Kind::mark, text.substr(at, 1), at, at + 1};
}

}  // namespace postern::sql
