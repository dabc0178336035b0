#include "engine/sql/texts/first_words.h"

#include <cstddef>

#include "engine/sql/texts/tokens.h"

namespace postern::sql {
namespace {

/// Bytes of a text that make its kind.
constexpr size_t kind_bytes = 96;

bool is_of_number(char c) {
  return c >= '0' && c <= '9';
}

/// The first token that is neither a parenthesis nor a comment. A comment that the server executes is.
Token first_word(Bytes text) {
  Token token = token_at(text, 0);
  while (token.is_mark('(') || (token.kind == Token::Kind::comment && !token.is_executed()))
    token = token_at(text, token.to);
  return token;
}

}  // namespace

uint64_t kind_of_text(Bytes text) {
  uint64_t kind = 0xcbf29ce484222325;
  char before = 0;
  for (const char c : text.substr(0, kind_bytes)) {
    if (!is_of_number(c) || !is_of_number(before))
      kind = (kind ^ static_cast<unsigned char>(is_of_number(c) ? '0' : c)) * 0x100000001b3;
    before = c;
  }
  return kind;
}

bool text_may_commit(Bytes text, bool in_transaction) {
  static constexpr Bytes reads[] = {"select", "show", "do", "use", "explain", "describe", "desc", "with"};
  static constexpr Bytes changes[] = {"update", "insert", "delete", "replace"};
  static constexpr Bytes sets[] = {"set"};  // SET autocommit = 1 commits
  const Token first = first_word(text);
  if (first.is_word_of(reads)) return false;
  if (first.is_word_of(changes)) return !in_transaction;
  return !first.is_word_of(sets) || in_transaction;
}

bool text_asks_client(Bytes text) {
  static constexpr Bytes words[] = {"load"};
  return first_word(text).is_word_of(words);
}

bool text_wants_tables(Bytes text) {
  static constexpr Bytes words[] = {"alter", "create", "drop",   "truncate", "rename",  "flush",
                                    "lock",  "backup", "repair", "optimize", "analyze", "check"};
  return first_word(text).is_word_of(words);
}

}  // namespace postern::sql
