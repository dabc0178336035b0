// prefixes.h: Prefixes, the counts of `stats detail`: commands by the key's prefix before the first `:`.
//
// One for all sessions of a protocol; off until a client switches it on; then each command with such a key takes its
// mutex. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/bytes.h"
#include "memcached/wire/request.h"

namespace postern::memcached {

class Prefixes {
 public:
  /// The maximum of prefixes, because clients choose them: further ones are not counted.
  static constexpr size_t prefixes_max = 1'000;

  bool on() const { return on_.load(std::memory_order_relaxed); }
  /// Stops counting; the counts stay.
  void turn(bool on) { on_.store(on, std::memory_order_relaxed); }

  /// Counts gets, deletions and the storage commands. `hit`: the get found an item.
  void count(ItemAction action, Bytes key, bool hit);

  /// Calls `line` with each line of the answer, without its end.
  void tell(const std::function<void(Bytes)> &line) const;
  void reset();

 private:
  struct Counts {
    uint64_t gets = 0;
    uint64_t hits = 0;
    uint64_t sets = 0;
    uint64_t erased = 0;
  };

  /// nullptr: no prefix, or too many.
  Counts *find(Bytes key);

  std::atomic<bool> on_{false};
  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::map<std::string, Counts, std::less<>> prefixes_;
};

}  // namespace postern::memcached
