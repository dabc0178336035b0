// prefixes.h: Prefixes, what `stats detail` counts: the commands on keys by what stands before their first `:`.
//
// One for all sessions of a protocol; off until a client asks for it, and then each command with such a key takes its
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
  /// Keys with more prefixes than these are not counted: clients choose them.
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

  /// nullptr: there is no prefix, or one too many.
  Counts *find(Bytes key);

  std::atomic<bool> on_{false};
  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::map<std::string, Counts, std::less<>> prefixes_;
};

}  // namespace postern::memcached
