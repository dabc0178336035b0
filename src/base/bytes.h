// bytes.h: Bytes, the borrowed view that every layer passes, and numbers parsed and printed without a locale.
//
// A Bytes owns nothing: it is valid as long as its buffer; each interface states how long that is.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace postern {

using Bytes = std::string_view;

/// A word with this value in every byte.
constexpr uint64_t every_byte(unsigned char byte) {
  return ~uint64_t{0} / 0xff * byte;
}

/// Several bytes at once, at any alignment.
template <class Word>
Word load(const char *from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// Reads an unsigned decimal number that fills `text` whole. Returns false for anything else, overflow included.
[[nodiscard]] inline bool parse_natural(Bytes text, uint64_t &number) {
  const char *const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end && !text.empty();
}

/// Prints a number at `to`, which must have room for 20 bytes; returns the byte after the last.
inline char *print_natural(char *to, uint64_t number) {
  return std::to_chars(to, to + 20, number).ptr;
}
inline char *print_integer(char *to, int64_t number) {
  return std::to_chars(to, to + 20, number).ptr;
}

/// Compares a secret with a client's bytes, in a time that depends only on the length of the client's bytes.
[[nodiscard]] inline bool equal_constant_time(Bytes secret, Bytes offered) {
  unsigned difference = secret.size() == offered.size() ? 0 : 1;
  for (size_t i = 0; i < offered.size(); ++i) {
    const char expected = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<unsigned char>(expected ^ offered[i]);
  }
  return difference == 0;
}

}  // namespace postern
