// silence_clock.h: SilenceClock, connections of a worker by the time at which each has been silent, or asleep, for too
// long.
//
// A heap by the time of the next check, so a connection's activity in between costs nothing. Part of a worker's
// Timeouts; owns no connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "door/connections/connection.h"

namespace postern::door {

class SilenceClock {
 public:
  /// Makes room for so many connections. Throws std::bad_alloc.
  void make_room_for(size_t count) {
    if (heap_.capacity() < count) heap_.reserve(std::max<size_t>(2 * count, 64));
  }
  /// Sets the connection's next check to `due_ms`, in place of an earlier one.
  void set(Connection &connection, int64_t due_ms) {
    if (connection.clock_place == 0) {
      heap_.push_back({due_ms, &connection});
      connection.clock_place = static_cast<uint32_t>(heap_.size());
    }
    heap_[connection.clock_place - 1].due_ms = due_ms;
    sink(rise(connection.clock_place - 1));
  }
  void remove(Connection &connection) {
    if (connection.clock_place == 0) return;
    const size_t place = std::exchange(connection.clock_place, 0) - 1;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (last.connection == &connection) return;
    put(place, last);
    sink(rise(place));
  }
  /// The connection to check first, or nullptr.
  Connection *first() const { return heap_.empty() ? nullptr : heap_.front().connection; }
  /// When to check a connection that is here.
  int64_t due_ms(const Connection &connection) const { return heap_[connection.clock_place - 1].due_ms; }
  /// When to check the first one; INT64_MAX: never.
  int64_t first_due_ms() const { return heap_.empty() ? INT64_MAX : heap_.front().due_ms; }

 private:
  struct Entry {
    int64_t due_ms;
    Connection *connection;
  };

  void put(size_t place, const Entry &entry) {
    heap_[place] = entry;
    entry.connection->clock_place = static_cast<uint32_t>(place + 1);
  }
  void exchange(size_t one, size_t other) {
    const Entry held = heap_[one];
    put(one, heap_[other]);
    put(other, held);
  }
  size_t rise(size_t place) {
    for (; place != 0 && heap_[place].due_ms < heap_[(place - 1) / 2].due_ms; place = (place - 1) / 2)
      exchange(place, (place - 1) / 2);
    return place;
  }
  void sink(size_t place) {
    for (size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1].due_ms < heap_[child].due_ms) ++child;
      if (heap_[place].due_ms <= heap_[child].due_ms) return;
      exchange(place, child);
      place = child;
    }
  }

  std::vector<Entry> heap_;
};

}  // namespace postern::door
