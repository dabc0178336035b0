#include "engine/sql/texts/table_places.h"

#include <cstddef>
#include <vector>

#include "engine/sql/texts/tokens.h"

namespace postern::sql {
namespace {

/// The next token that is no comment.
Token token_after(Bytes text, size_t at) {
  Token token = token_at(text, at);
  while (token.kind == Token::Kind::comment) token = token_at(text, token.to);
  return token;
}

constexpr Bytes before_tables[] = {"from", "join", "straight_join"};
constexpr Bytes after_tables[] = {"select", "where",  "group", "having", "order", "limit",
                                  "union",  "window", "for",   "lock",   "except"};
/// Words that may follow a table without an alias.
constexpr Bytes no_aliases[] = {"join",  "inner",  "left",  "right", "cross",  "natural", "straight_join",
                                "on",    "using",  "where", "group", "for",    "order",   "limit",
                                "union", "having", "use",   "force", "ignore", "lock",    "set"};

/// Reads the tokens of a text, and knows where a table may stand.
class Reader {
 public:
  explicit Reader(Bytes text) : text_(text) {}

  /// The next one. False: there is none.
  bool step() {
    before_ = token_;
    token_ = token_after(text_, token_.to);
    if (token_.kind == Token::Kind::end) return false;
    if (token_.is_mark('(')) {
      in_tables_.push_back(may_begin());
    } else if (token_.is_mark(')')) {
      if (in_tables_.size() > 1) in_tables_.pop_back();
    } else if (token_.is_word_of(before_tables)) {
      in_tables_.back() = true;
    } else if (token_.is_word_of(after_tables)) {
      in_tables_.back() = false;
    }
    return true;
  }
  /// Whether the token stands where a table may begin.
  bool may_begin() const {
    return before_.is_word_of(before_tables) || (in_tables_.back() && (before_.is_mark(',') || before_.is_mark('(')));
  }
  bool is_name() const {
    return (token_.kind == Token::Kind::name && token_.closed) || token_.kind == Token::Kind::word;
  }
  const Token &token() const { return token_; }
  Token next() const { return token_after(text_, token_.to); }

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
    if (reader.next().is_mark('.')) {
      reader.step();
      reader.step();
    }
    const Token next = reader.next();
    if (!reader.is_name() || !same(reader.token().text, table) || next.is_mark('.') || next.is_mark('(')) continue;
    const bool aliased = next.kind == Token::Kind::name || next.is_word("as") ||
                         (next.kind == Token::Kind::word && !next.is_word_of(no_aliases));
    found.push_back({from, reader.token().to, aliased});
  }
  return found;
}

}  // namespace postern::sql
