// recent_housekeeping.h: RecentHousekeeping, which remembers the kinds of short texts: applications send the same few
// between their statements again and again, and reading one costs more than comparing it.
//
// One thread. Its memory is bounded: one text replaces another.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "engine/sql/texts/housekeeping.h"

namespace postern::sql {

class RecentHousekeeping {
 public:
  /// As housekeeping_of().
  Housekeeping kind_of(Bytes text, Bytes &lock) {
    if (text.empty() || text.size() > text_bytes_max) return housekeeping_of(text, lock);
    Entry &entry = entries_[place_of(text)];
    if (Bytes(entry.text, entry.text_bytes) != text) learn(entry, text);
    if (entry.kind == Housekeeping::lock) lock = text.substr(entry.lock_at, entry.lock_bytes);
    return entry.kind;
  }

 private:
  static constexpr size_t text_bytes_max = 60;
  struct Entry {
    Housekeeping kind = Housekeeping::none;
    uint8_t text_bytes = 0;
    uint8_t lock_at = 0;  // the lock's name in the text
    uint8_t lock_bytes = 0;
    char text[text_bytes_max];
  };

  static size_t place_of(Bytes text) {
    uint64_t sum = text.size();
    while (!text.empty()) {
      uint64_t chunk = 0;
      const size_t bytes = std::min(text.size(), sizeof chunk);
      std::memcpy(&chunk, text.data(), bytes);
      sum = (sum ^ chunk) * 0x9e3779b97f4a7c15;
      text.remove_prefix(bytes);
    }
    return sum >> (64 - entries_bits);
  }

  static void learn(Entry &entry, Bytes text) {
    Bytes lock;
    entry.kind = housekeeping_of(text, lock);
    if (!lock.empty()) entry.lock_at = static_cast<uint8_t>(lock.data() - text.data());
    entry.lock_bytes = static_cast<uint8_t>(lock.size());
    entry.text_bytes = static_cast<uint8_t>(text.copy(entry.text, text_bytes_max));
  }

  static constexpr int entries_bits = 6;
  std::array<Entry, size_t{1} << entries_bits> entries_{};
};

}  // namespace postern::sql
