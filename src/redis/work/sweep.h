// sweep.h: Sweep, which deletes rows of keys that have expired and that nobody asks for any more.
//
// Owned by a plugin; used by the thread that has an executor for it, if nothing else is said.
//
//   redis::Sweep sweep(1'000);
//   deleted += sweep.run(*executor, goes_on);  // once a second
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/changing.h"
#include "contract/executor.h"
#include "redis/keyspace/open_maps.h"

namespace postern::redis {

/// Finds expired rows of a mapping by the index of its table that has the name of the expiry column; a table without
/// such an index is not swept. Few rows are deleted at once, none that somebody holds locked, and nothing waits for
/// them: what cannot be deleted now is left for another time.
class Sweep {
 public:
  /// Rows of one transaction.
  static constexpr uint64_t rows_at_once = 100;

  /// Hears of each key that is gone, as clients have it, and of its database.
  using Tell = std::function<void(uint8_t, std::string)>;

  /// At most `rows_max` rows of each mapping in one run.
  explicit Sweep(uint64_t rows_max, Tell tell = {}) : rows_max_(rows_max), tell_(std::move(tell)) {}

  /// From the next run on; 0: nothing is deleted. Any thread.
  void change(uint64_t rows_max) { rows_max_ = rows_max; }

  /// Goes over all mappings once and leaves the executor idle. Asks `goes_on` before each transaction. Returns how many
  /// keys were deleted. May throw std::bad_alloc.
  uint64_t run(Executor &executor, const std::function<bool()> &goes_on);

 private:
  using Key = std::vector<std::string>;
  struct Index;
  struct Sweeping;

  void refresh(Executor &executor);
  uint64_t sweep(Sweeping &sweeping, uint32_t number);
  std::vector<Key> find_expired(Sweeping &sweeping, const Map &map, Index &index);
  void tell_deleted(const Map &map, const Key &key) const;
  uint64_t delete_keys(Sweeping &sweeping, OpenMap &open, std::span<const Key> keys);

  Maps maps_{false};  // of its own: sessions read theirs when they are asked something
  Changing<uint64_t> rows_max_;
  const Tell tell_;
  uint64_t generation_ = 0;  // the open tables'
  OpenMaps open_;
};

}  // namespace postern::redis
