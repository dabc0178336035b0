// sweep.h: Sweep, which deletes rows of expired keys that no client uses any more.
//
// Owned by a plugin; used by the thread that has an executor for it, except where noted.
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
/// such an index is not swept. Deletes few rows at once and no locked ones, and waits for nothing: rows that cannot be
/// deleted now are left for the next time.
class Sweep {
 public:
  /// Rows of one transaction.
  static constexpr uint64_t rows_at_once = 100;

  /// Called with each deleted key, as clients name it, and its database.
  using Tell = std::function<void(uint8_t, std::string)>;

  /// At most `rows_max` rows of each mapping in one run.
  explicit Sweep(uint64_t rows_max, Tell tell = {}) : rows_max_(rows_max), tell_(std::move(tell)) {}

  /// Takes effect from the next run on; 0: nothing is deleted. Any thread.
  void change(uint64_t rows_max) { rows_max_ = rows_max; }

  /// Visits all mappings once and leaves the executor idle. Calls `goes_on` before each transaction. Returns how many
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

  Maps maps_{false};  // its own, because sessions read theirs only when they get a request
  Changing<uint64_t> rows_max_;
  const Tell tell_;
  uint64_t generation_ = 0;  // the open tables'
  OpenMaps open_;
};

}  // namespace postern::redis
