// tokens.h: one complete command line of the text dialects, word by word, and the numbers in it.
//
// Words are separated by blanks. Views into the line; nothing here allocates.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace postern::memcached {

/// A number with an optional minus sign that fills `word` whole.
[[nodiscard]] inline bool parse_integer(Bytes word, int64_t &number) {
  const char *const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  return error == std::errc{} && stop == end && !word.empty();
}

/// The same without a sign and within 32 bits.
[[nodiscard]] inline bool parse_natural_32(Bytes word, uint32_t &number) {
  uint64_t wide = 0;
  if (!parse_natural(word, wide) || wide > UINT32_MAX) return false;
  number = static_cast<uint32_t>(wide);
  return true;
}

/// The words of a line. memcached, too, ignores further ones.
class Words {
 public:
  static constexpr size_t words_max = 23;

  explicit Words(Bytes line) : end_(line.data() + line.size()) {
    const char *at = line.data();
    while (true) {
      while (at != end_ && *at == ' ') ++at;
      if (at == end_ || count_ == words_max) return;
      const char *const begin = at;
      while (at != end_ && *at != ' ') ++at;
      words_[count_++] = {begin, at};
    }
  }

  size_t count() const { return count_; }
  /// Empty beyond the last.
  Bytes operator[](size_t index) const {
    if (index >= count_) return {};
    return {words_[index].begin, static_cast<size_t>(words_[index].end - words_[index].begin)};
  }
  Bytes last() const { return (*this)[count_ - 1]; }
  /// The rest of the line from a word on.
  Bytes from(size_t index) const {
    if (index >= count_) return {};
    return {words_[index].begin, static_cast<size_t>(end_ - words_[index].begin)};
  }

 private:
  struct Word {
    const char *begin;
    const char *end;
  };

  const char *end_;
  size_t count_ = 0;
  // Only the first count_ are set: most lines have three to five words.
  std::array<Word, words_max> words_;
};

}  // namespace postern::memcached
