#include "engine/sql/texts/first_words.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

namespace postern::sql {
namespace {

/// Bytes of a text that make its kind.
constexpr size_t kind_bytes = 96;

bool is_of_number(char c) {
  return c >= '0' && c <= '9';
}

/// True if the text begins with `word`, in letters of any case, and goes on after it.
bool begins_with(Bytes text, Bytes word) {
  return text.size() > word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
           return a == (b | ('a' <= a && a <= 'z' ? 0x20 : 0));
         });
}

/// The text without the spaces, parentheses and comments before it. A comment that the server executes stays.
Bytes from_first_word(Bytes text) {
  for (;;) {
    if (!text.empty() && (std::isspace(static_cast<unsigned char>(text[0])) != 0 || text[0] == '(')) {
      text.remove_prefix(1);
      continue;
    }
    if (!text.starts_with("/*") || text.starts_with("/*!") || text.starts_with("/*M")) return text;
    const size_t end = text.find("*/", 2);
    if (end == Bytes::npos) return text;
    text.remove_prefix(end + 2);
  }
}

template <size_t count>
bool begins_with_one(Bytes text, const Bytes (&words)[count]) {
  return std::any_of(std::begin(words), std::end(words), [text](Bytes word) { return begins_with(text, word); });
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
  text = from_first_word(text);
  if (begins_with_one(text, reads)) return false;
  if (begins_with_one(text, changes)) return !in_transaction;
  return !begins_with_one(text, sets) || in_transaction;
}

bool text_wants_tables(Bytes text) {
  static constexpr Bytes words[] = {"alter", "create", "drop",   "truncate", "rename",  "flush",
                                    "lock",  "backup", "repair", "optimize", "analyze", "check"};
  return begins_with_one(from_first_word(text), words);
}

}  // namespace postern::sql
