#include "engine/sql/texts/first_words.h"

#include <cstddef>
#include <cstring>

namespace postern::sql {
namespace {

/// Bytes of a text that make its kind.
constexpr size_t kind_bytes = 96;

bool is_of_number(char c) {
  return c >= '0' && c <= '9';
}

/// Whether any of the first eight bytes, which become `eight`, is a digit, or one of the six characters after 9.
bool may_have_digit(Bytes text, uint64_t &eight) {
  std::memcpy(&eight, text.data(), sizeof eight);
  const uint64_t others = (eight & 0xf0f0f0f0f0f0f0f0) ^ 0x3030303030303030;  // 0 in the bytes that are 0x30 to 0x3f
  return ((others - 0x0101010101010101) & ~others & 0x8080808080808080) != 0;
}

}  // namespace

/// Eight bytes at a time up to the next number: so it does not matter how long that is.
uint64_t kind_of_text(Bytes text) {
  constexpr uint64_t factor = 0x100000001b3;
  uint64_t kind = 0xcbf29ce484222325;
  char before = 0;
  for (text = text.substr(0, kind_bytes); !text.empty();) {
    uint64_t eight = 0;
    if (text.size() >= sizeof eight && !may_have_digit(text, eight)) {
      kind = (kind ^ eight) * factor;
      before = 0;
      text.remove_prefix(sizeof eight);
      continue;
    }
    const char c = text.front();
    if (!is_of_number(c) || !is_of_number(before))
      kind = (kind ^ static_cast<unsigned char>(is_of_number(c) ? '0' : c)) * factor;
    before = c;
    text.remove_prefix(1);
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
