#include "engine/sql/texts/first_words.h"

#include <cstddef>

namespace postern::sql {
namespace {

/// Bytes of a text that make its kind.
constexpr size_t kind_bytes = 96;

bool is_of_number(char c) {
  return c >= '0' && c <= '9';
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

/// The first token that is neither a parenthesis nor a comment. A comment that the server executes is.
FirstWord::FirstWord(Bytes text) : token_(token_at(text, 0)) {
  while (token_.is_mark('(') || (token_.kind == Token::Kind::comment && !token_.is_executed()))
    token_ = token_at(text, token_.to);
}

bool FirstWord::may_commit(bool in_transaction) const {
  static constexpr Bytes reads[] = {"select", "show", "do", "use", "explain", "describe", "desc", "with"};
  static constexpr Bytes changes[] = {"update", "insert", "delete", "replace"};
  static constexpr Bytes sets[] = {"set"};  // SET autocommit = 1 commits
  if (token_.is_word_of(reads)) return false;
  if (token_.is_word_of(changes)) return !in_transaction;
  return !token_.is_word_of(sets) || in_transaction;
}

bool FirstWord::asks_client() const {
  static constexpr Bytes words[] = {"load"};
  return token_.is_word_of(words);
}

bool FirstWord::wants_tables() const {
  static constexpr Bytes words[] = {"alter", "create", "drop",   "truncate", "rename",  "flush",
                                    "lock",  "backup", "repair", "optimize", "analyze", "check"};
  return token_.is_word_of(words);
}

}  // namespace postern::sql
