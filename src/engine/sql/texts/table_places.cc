#include "engine/sql/texts/table_places.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace postern::sql {
namespace {

struct Token {
  enum class Kind : uint8_t { word, name, mark, other };

  Kind kind = Kind::other;
  Bytes text{};  // of a name: without its quotes
  size_t from = 0;
  size_t to = 0;
};

bool is_of_word(char one) {
  return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') || one == '_' ||
         one == '$' || static_cast<unsigned char>(one) >= 0x80;
}

/// Where what is quoted at `at` ends.
size_t end_of_quoted(Bytes text, size_t at) {
  const char quote = text[at];
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote != '`') ++i;
    else if (text[i] == quote) return i + 1;
  }
  return text.size();
}

size_t skip_blanks(Bytes text, size_t at) {
  const auto after = [text](size_t found, size_t size) { return found == Bytes::npos ? text.size() : found + size; };
  while (at < text.size()) {
    const char one = text[at];
    const Bytes two = text.substr(at, 3);
    if (one == ' ' || (one >= '\t' && one <= '\r')) ++at;
    else if (two.substr(0, 2) == "/*") at = after(text.find("*/", at + 2), 2);
    else if (one == '#' || two == "-- ") at = after(text.find('\n', at), 1);
    else break;
  }
  return at;
}

Token token_at(Bytes text, size_t at) {
  at = skip_blanks(text, at);
  if (at >= text.size()) return {.from = text.size(), .to = text.size()};
  const char one = text[at];
  if (one == '`') {
    const size_t end = end_of_quoted(text, at);
    return {Token::Kind::name, text.substr(at + 1, std::max(end, at + 2) - at - 2), at, end};
  }
  if (one == '\'' || one == '"') return {.from = at, .to = end_of_quoted(text, at)};
  size_t end = at;
  while (end < text.size() && is_of_word(text[end])) ++end;
  if (end != at) return {Token::Kind::word, text.substr(at, end - at), at, end};
  return {Token::Kind::mark, text.substr(at, 1), at, at + 1};
}

bool is_word(const Token &token, std::string_view upper) {
  const auto same = [](char left, char right) { return (left >= 'a' && left <= 'z' ? left - 32 : left) == right; };
  return token.kind == Token::Kind::word && std::ranges::equal(token.text, upper, same);
}

template <size_t Size>
bool is_one_of(const Token &token, const std::array<std::string_view, Size> &words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return is_word(token, word); });
}

bool is_mark(const Token &token, char mark) {
  return token.kind == Token::Kind::mark && token.text[0] == mark;
}

constexpr std::array<std::string_view, 3> before_tables{"FROM", "JOIN", "STRAIGHT_JOIN"};
constexpr std::array<std::string_view, 11> after_tables{"SELECT", "WHERE",  "GROUP", "HAVING", "ORDER", "LIMIT",
                                                        "UNION",  "WINDOW", "FOR",   "LOCK",   "EXCEPT"};
/// Words that may follow a table without an alias.
constexpr std::array<std::string_view, 21> no_aliases{
    "JOIN", "INNER", "LEFT",  "RIGHT", "CROSS",  "NATURAL", "STRAIGHT_JOIN", "ON",     "USING", "WHERE", "GROUP",
    "FOR",  "ORDER", "LIMIT", "UNION", "HAVING", "USE",     "FORCE",         "IGNORE", "LOCK",  "SET"};

/// The tokens of a text, with where a table may stand.
class Reader {
 public:
  explicit Reader(Bytes text) : text_(text) {}

  /// The next one. False: there is none.
  bool step() {
    before_ = token_;
    token_ = token_at(text_, token_.to);
    if (token_.from >= text_.size()) return false;
    if (is_mark(token_, '(')) {
      in_tables_.push_back(may_begin());
    } else if (is_mark(token_, ')')) {
      if (in_tables_.size() > 1) in_tables_.pop_back();
    } else if (is_one_of(token_, before_tables)) {
      in_tables_.back() = true;
    } else if (is_one_of(token_, after_tables)) {
      in_tables_.back() = false;
    }
    return true;
  }
  /// Whether the token stands where a table may begin.
  bool may_begin() const {
    return is_one_of(before_, before_tables) || (in_tables_.back() && (is_mark(before_, ',') || is_mark(before_, '(')));
  }
  bool is_name() const { return token_.kind == Token::Kind::name || token_.kind == Token::Kind::word; }
  const Token &token() const { return token_; }
  Token next() const { return token_at(text_, token_.to); }

 private:
  Bytes text_;
  Token before_{};
  Token token_{};
  std::vector<bool> in_tables_{false};
};

}  // namespace

std::vector<TablePlace> places_of_table(Bytes text, Bytes table, bool (*same)(Bytes left, Bytes right)) {
  std::vector<TablePlace> found;
  Reader reader(text);
  while (reader.step()) {
    if (!reader.may_begin() || !reader.is_name()) continue;
    const size_t from = reader.token().from;
    if (is_mark(reader.next(), '.')) {
      reader.step();
      reader.step();
    }
    const Token next = reader.next();
    if (!reader.is_name() || !same(reader.token().text, table) || is_mark(next, '.') || is_mark(next, '(')) continue;
    const bool aliased = next.kind == Token::Kind::name || is_word(next, "AS") ||
                         (next.kind == Token::Kind::word && !is_one_of(next, no_aliases));
    found.push_back({from, reader.token().to, aliased});
  }
  return found;
}

}  // namespace postern::sql
