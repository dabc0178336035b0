// list_work.h: ListWork, the base of commands on lists.
//
// Elements have positions one after the other, from the key's `head` on: an index is a place in the table.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "redis/collections/range_tell.h"

namespace postern::redis {

/// So many places after one, or before it if negative. At the ends of the table, where SQL alone may put elements, it
/// is the last one there is: an insert there meets an existing row, and is refused.
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
  /// Elements at indexes from `first` on, as a find goes; with `back` from the last of them.
  Find stretch(const Entry &entry, const Places::Stretch &stretch, bool back = false);

  // These change `entry`, which is stored by whoever calls them.

  /// At the front the last one becomes the first element.
  Task<> push(Entry &entry, std::span<const Bytes> elements, bool front);
  /// The same to a key that is there or not, with its row, in one step. False: that is answered.
  Task<bool> push_at_once(RowKey key, Entry &entry, std::span<const Bytes> elements, bool front);
  enum class Storing : uint8_t { later, at_once };  ///< at once: unless there is nothing to pop
  Task<> pop(Entry &entry, uint64_t count, bool from_end, std::vector<std::string> &taken,
             Storing storing = Storing::later);

  struct Search {
    Bytes element{};
    bool from_end = false;
    uint64_t skipped = 0;       ///< matches that are not wanted
    uint64_t wanted = all;      ///< matches
    uint64_t length_max = all;  ///< elements that are looked at
    bool locks = true;
  };
  /// Indexes of elements that are equal, as they are met.
  Task<> search(const Entry &entry, const Search &search, std::vector<int64_t> &indexes);

 private:
  /// That of an element that comes to one end, which `entry` then has.
  static int64_t next_place(Entry &entry, bool front);
};

}  // namespace postern::redis
