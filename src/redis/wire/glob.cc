#include "redis/wire/glob.h"

#include <utility>

namespace postern::redis {
namespace {

unsigned char folded(char byte, bool fold_case) {
  return static_cast<unsigned char>(fold_case && byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
}

/// Takes one `[...]` from the beginning of `pattern`: whether `byte` is in it. One without an end takes the whole rest,
/// as in Redis.
bool take_set(Bytes &pattern, char byte, bool fold_case) {
  size_t at = 1;
  const bool negated = at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;
  bool found = false;
  const unsigned char wanted = folded(byte, fold_case);
  for (; at < pattern.size() && pattern[at] != ']'; ++at) {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) {
      found = found || folded(pattern[++at], false) == static_cast<unsigned char>(byte);
    } else if (at + 2 < pattern.size() && pattern[at + 1] == '-') {
      unsigned char from = folded(pattern[at], fold_case);
      unsigned char to = folded(pattern[at + 2], fold_case);
      if (from > to) std::swap(from, to);
      found = found || (wanted >= from && wanted <= to);
      at += 2;
    } else {
      found = found || folded(pattern[at], fold_case) == wanted;
    }
  }
  pattern.remove_prefix(at < pattern.size() ? at + 1 : at);
  return found != negated;
}

/// Takes one byte's part from the pattern, which is not empty and does not begin with `*`.
bool take_one(Bytes &pattern, char byte, bool fold_case) {
  switch (pattern.front()) {
    case '?': pattern.remove_prefix(1); return true;
    case '[': return take_set(pattern, byte, fold_case);
    case '\\':
      if (pattern.size() >= 2) pattern.remove_prefix(1);
      break;
    default: break;
  }
  const bool equal = folded(pattern.front(), fold_case) == folded(byte, fold_case);
  pattern.remove_prefix(1);
  return equal;
}

}  // namespace

// Only the last star is ever tried again: if the part after it cannot match from some place on, no earlier star helps.
bool glob_matches(Bytes pattern, Bytes text, bool fold_case) {
  Bytes behind_star;
  size_t at = 0;
  size_t retry_at = 0;
  bool starred = false;
  for (;;) {
    if (!pattern.empty() && pattern.front() == '*') {
      while (!pattern.empty() && pattern.front() == '*') pattern.remove_prefix(1);
      if (pattern.empty()) return true;
      behind_star = pattern;
      retry_at = at;
      starred = true;
      continue;
    }
    if (at == text.size()) return pattern.empty();
    if (!pattern.empty() && take_one(pattern, text[at], fold_case)) {
      ++at;
      continue;
    }
    if (!starred) return false;
    pattern = behind_star;
    at = ++retry_at;
  }
}

Bytes glob_prefix(Bytes pattern) {
  const size_t end = pattern.find_first_of("*?[\\");
  return pattern.substr(0, end);
}

}  // namespace postern::redis
