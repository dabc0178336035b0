// scan_cursors.h: ScanCursors, the positions of unfinished scans by their cursor numbers.
//
// One for all sessions of a door. Numbers are below 2^53, because some clients convert them to floats. The positions of
// the last `places_max` scans are kept, even after use, because clients may repeat a call.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace postern::redis {

/// The largest COUNT; larger ones count as this.
inline constexpr uint64_t scan_count_max = 10'000;

struct ScanPlace {
  std::string owner{};  ///< the account that scans
  uint32_t db = 0;
  std::string prefix{};             ///< the prefix of the mapping, or the key of the hash or set
  std::vector<std::string> last{};  ///< the key of the last row; empty: at the beginning
};

/// Parses a cursor as Redis does: like strtoul(), without blanks, so the empty text and `+0` are 0, and negative
/// numbers wrap around. False: invalid.
inline bool parse_cursor(Bytes text, uint64_t &cursor) {
  text = text.substr(0, text.find('\0'));
  cursor = 0;
  if (text.empty()) return true;
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  if (!parse_natural(text, cursor)) return false;
  if (negative) cursor = -cursor;
  return true;
}

class ScanCursors {
 public:
  static constexpr size_t places_max = 16'384;

  /// Stores a position and returns its cursor, never 0. Any thread.
  uint64_t put(ScanPlace place) {
    const std::lock_guard guard(mutex_);
    const uint64_t cursor = ++last_;
    if (places_.empty()) places_.resize(places_max);
    places_[cursor % places_max] = {cursor, std::move(place)};
    return cursor;
  }
  /// Finds a position. False: that account and database have no such cursor. Any thread.
  bool get(uint64_t cursor, Bytes owner, uint32_t db, ScanPlace &place) const {
    const std::lock_guard guard(mutex_);
    if (places_.empty()) return false;
    const Issued &known = places_[cursor % places_max];
    if (known.cursor != cursor || known.place.owner != owner || known.place.db != db) return false;
    place = known.place;
    return true;
  }

 private:
  struct Issued {
    uint64_t cursor = 0;
    ScanPlace place{};
  };

  mutable std::mutex mutex_;  // a leaf; guards the members below
  std::vector<Issued> places_;
  uint64_t last_ = 0;
};

}  // namespace postern::redis
