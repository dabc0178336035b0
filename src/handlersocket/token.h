// token.h: one request line, token by token.
//
// A line is split at each TAB: a line without one is a single token, and two TABs in a row have an empty token between
// them. Tokens are views into the line; value() unescapes in place, so read each token as a value at most once. Nothing
// here allocates; only value() can fail, on a malformed escape.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "contract/value.h"

namespace postern::handlersocket {

inline constexpr char tab = '\t';
inline constexpr char null_token = '\x00';
inline constexpr char escape_mark = '\x01';
inline constexpr unsigned char escape_shift = 0x40;

/// Parses a number as the original does: bytes that are not digits are skipped, and no digit gives 0. Where the
/// original wraps around at 2^32 this saturates.
inline uint64_t natural(Bytes token) {
  uint64_t number = 0;
  for (const char byte : token) {
    const unsigned digit = static_cast<unsigned char>(byte) - unsigned{'0'};
    if (digit > 9) continue;
    if (__builtin_mul_overflow(number, 10u, &number) || __builtin_add_overflow(number, digit, &number))
      return std::numeric_limits<uint64_t>::max();
  }
  return number;
}

class Tokens {
 public:
  /// The bytes from `line` to `end`, which does not count the line's end.
  Tokens(char *line, char *end)
      : next_(line), end_(end), escapes_(std::memchr(line, escape_mark, static_cast<size_t>(end - line)) != nullptr) {}

  bool more() const { return next_ != nullptr; }

  /// The next token as it is, empty if there is none.
  Bytes take() {
    if (next_ == nullptr) return {};
    char *const token = next_;
    char *const stop = find_tab(token);
    next_ = stop == end_ ? nullptr : stop + 1;
    return {token, static_cast<size_t>(stop - token)};
  }

  /// natural() of the next token, which is usually a single digit.
  uint64_t take_natural() {
    const ptrdiff_t left = next_ == nullptr ? 0 : end_ - next_;
    if (left == 1 || (left > 1 && next_[1] == tab)) {
      const unsigned digit = static_cast<unsigned char>(*next_) - unsigned{'0'};
      if (digit <= 9) {
        next_ = left == 1 ? nullptr : next_ + 2;
        return digit;
      }
    }
    return take_longer_natural();
  }

  /// The next token as a value, the empty string if there is none. False if an escape in it is malformed. Inlined,
  /// because a call for each value of an IN list would cost as much as the value.
  [[nodiscard, gnu::always_inline]] inline bool take_value(Value &value) {
    if (next_ == nullptr) {
      value = Value::of({});
      return true;
    }
    char *const token = next_;
    const Bytes raw = take();
    if (raw.size() == 1 && raw[0] == null_token) {
      value = Value::null();
      return true;
    }
    size_t size = raw.size();
    if (escapes_ && !unescape(token, size)) return false;
    value = Value::of({token, size});
    return true;
  }

  /// Skips `count` tokens; false if there were fewer.
  bool skip(uint64_t count) {
    for (; count != 0 && more(); --count) take();
    return count == 0;
  }

  /// Tokens not taken yet.
  size_t left() const { return next_ == nullptr ? 0 : static_cast<size_t>(std::count(next_, end_, tab)) + 1; }

 private:
  /// Not inlined, because its small caller is used in many places.
  [[gnu::noinline]] uint64_t take_longer_natural() { return natural(take()); }

  /// Most tokens are a few bytes long, where eight bytes at once beat a call of memchr.
  char *find_tab(char *at) const {
    static_assert(std::endian::native == std::endian::little, "the first of eight bytes is the lowest");
    for (const char *const near = at + 16; at != near && end_ - at >= 8; at += 8) {
      // The lowest set bit belongs to a TAB; above it the borrow may mark other bytes, too.
      const uint64_t zero_at_tab = load<uint64_t>(at) ^ every_byte(tab);
      const uint64_t tabs = (zero_at_tab - every_byte(0x01)) & ~zero_at_tab & every_byte(0x80);
      if (tabs != 0) return at + std::countr_zero(tabs) / 8;
    }
    if (end_ - at >= 8) {
      void *const found = std::memchr(at, tab, static_cast<size_t>(end_ - at));
      return found != nullptr ? static_cast<char *>(found) : end_;
    }
    while (at != end_ && *at != tab) ++at;
    return at;
  }

  /// Unescapes the token in place. False if a mark has no byte after it or one below 0x40.
  [[nodiscard]] static bool unescape(char *token, size_t &size) {
    char *const end = token + size;
    char *from = static_cast<char *>(std::memchr(token, escape_mark, size));
    if (from == nullptr) return true;
    char *to = from;
    while (from != end) {
      if (*from != escape_mark) {
        *to++ = *from++;
        continue;
      }
      if (end - from < 2) return false;
      const unsigned char byte = static_cast<unsigned char>(from[1]);
      if (byte < escape_shift) return false;
      *to++ = static_cast<char>(byte - escape_shift);
      from += 2;
    }
    size = static_cast<size_t>(to - token);
    return true;
  }

  char *next_;  // nullptr after the last token
  char *end_;
  bool escapes_;  // whether the line holds an escape mark at all
};

}  // namespace postern::handlersocket
