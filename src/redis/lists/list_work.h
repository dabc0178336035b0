// list_work.h: ListWork, the base of commands on lists.
//
// Elements have consecutive positions, from the key's `head` on, so an index gives a position in the table.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "redis/collections/range_tell.h"

namespace postern::redis {

/// The position so many places after another one, or before it if negative. At the ends of the range, where only SQL
/// may put elements, it saturates: an insert there meets an existing row, and is refused.
constexpr int64_t place_behind(int64_t place, int64_t by) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(place, by, &sum)) return sum;
  return by < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

class ListWork : public CollectionWork {
 public:
  using CollectionWork::CollectionWork;

 protected:
  OpenTable &lists() { return elements(Elements::lists); }
  std::span<const Value> at(const Entry &entry, int64_t index) {
    return values({Value::of(entry.key), Value::of(keep_text(std::to_string(place_behind(entry.head, index))))});
  }
  /// Reads elements at indexes from `first` on; with `back` from the last one backwards.
  Find stretch(const Entry &entry, const Places::Stretch &stretch, bool back = false);

  // These change `entry`; the caller stores it.

  /// At the front the last value becomes the first element.
  Task<> push(Entry &entry, std::span<const Bytes> elements, bool front);
  /// The same for a key that may not exist, together with its row, in one step. False: an error was answered.
  Task<bool> push_at_once(RowKey key, Entry &entry, std::span<const Bytes> elements, bool front);
  enum class Storing : uint8_t { later, at_once };  ///< at once: unless the list is empty
  Task<> pop(Entry &entry, uint64_t count, bool from_end, std::vector<std::string> &taken,
             Storing storing = Storing::later);

  struct Search {
    Bytes element{};
    bool from_end = false;
    uint64_t skipped = 0;       ///< matches to skip
    uint64_t wanted = all;      ///< matches
    uint64_t length_max = all;  ///< elements to examine
    bool locks = true;
  };
  /// Indexes of equal elements, in the order in which they are met.
  Task<> search(const Entry &entry, const Search &search, std::vector<int64_t> &indexes);

 private:
  /// The position of a new element at one end; updates `entry`.
  static int64_t next_place(Entry &entry, bool front);
};

}  // namespace postern::redis
