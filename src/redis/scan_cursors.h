// scan_cursors.h: ScanCursors, where scans go on, by the numbers that clients have for that.
//
// One for all sessions of a door. Numbers are decimal and below 2^53, since some clients make floats of them. The
// places of the last `places_max` scans are known; one that is asked again for is known on, for clients may do that.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace postern::redis {

/// The largest COUNT; more counts as this.
inline constexpr uint64_t scan_count_max = 10'000;

struct ScanPlace {
  std::string owner{};  ///< the account that scans
  uint32_t db = 0;
  std::string prefix{};             ///< the prefix of the mapping that is walked, or the key of the hash or set
  std::vector<std::string> last{};  ///< the key of the last row seen; empty: the walk begins
};

/// A cursor as Redis reads it, which is strtoul()'s way but for blanks: `` and `+0` are 0, and a sign counts from 2^64
/// down. False: it is none.
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

  /// Not 0. Any thread.
  uint64_t put(ScanPlace place) {
    const std::lock_guard guard(mutex_);
    const uint64_t cursor = ++last_;
    if (places_.empty()) places_.resize(places_max);
    places_[cursor % places_max] = {cursor, std::move(place)};
    return cursor;
  }
  /// False: that account and database have no such place. Any thread.
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

  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::vector<Issued> places_;
  uint64_t last_ = 0;
};

}  // namespace postern::redis
