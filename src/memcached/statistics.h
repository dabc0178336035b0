// statistics.h: Statistics, the counters of the protocol's commands. The rows are in statistics.def.
//
// One for all sessions of a protocol. Any thread may count and sum. A command that is run again because its transaction
// was lost is counted again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/tally.h"
#include "memcached/prefixes.h"

namespace postern::memcached {

enum class Statistic : uint8_t {
#define STATISTIC(name, sentence) name,
#include "memcached/statistics.def"
#undef STATISTIC
};
inline constexpr size_t statistic_count = 0
#define STATISTIC(name, sentence) +1
#include "memcached/statistics.def"
#undef STATISTIC
    ;

}  // namespace postern::memcached

namespace postern {

template <>
inline constexpr size_t row_count<memcached::Statistic> = memcached::statistic_count;

}  // namespace postern

namespace postern::memcached {

class Statistics {
 public:
  using Sums = Tally<Statistic>;

  template <class... Each>
  void add(Each... statistics) {
    tallies_.add(statistics...);
  }
  void add_to(Sums &sums) const { tallies_.add_to(sums); }

  /// Makes add_to() add only later counts. Drops the prefixes.
  void reset() {
    prefixes_.reset();
    tallies_.reset();
  }

  Prefixes &prefixes() { return prefixes_; }
  const Prefixes &prefixes() const { return prefixes_; }

 private:
  ThreadTallies<Statistic> tallies_;
  Prefixes prefixes_;
};

}  // namespace postern::memcached
