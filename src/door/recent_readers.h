// recent_readers.h: RecentReaders, which remembers the clients that read last: a worker that waits for a flush would
// delay them.
//
// A worker has one, and its thread alone touches it.
#pragma once

#include <array>
#include <cstdint>

#include "door/connections/connection.h"

namespace postern::door {

class RecentReaders {
 public:
  static constexpr int64_t remembered_ms = 1'000;

  void note(const Connection &connection, int64_t now_ms) {
    if (last_[0].connection != &connection) last_[1] = last_[0];
    last_[0] = {&connection, now_ms};
  }
  /// Whether a client other than `writer` has read lately; nullptr: whether any has.
  bool any_but(const Connection *writer, int64_t now_ms) const {
    for (const Reader &reader : last_)
      if (reader.connection != writer && now_ms - reader.read_ms <= remembered_ms) return true;
    return false;
  }

 private:
  struct Reader {
    const Connection *connection = nullptr;  // compared only: it may be gone
    int64_t read_ms = INT64_MIN / 2;
  };
  std::array<Reader, 2> last_;  // two different clients, the newest first
};

}  // namespace postern::door
