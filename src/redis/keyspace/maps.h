// maps.h: Maps, what postern.redis_maps says of all keys, as it was read last, and MapSnapshot, which answers by key.
//
// One for all sessions of a protocol. A session holds the snapshot it works with; a new `generation` means that there
// is another snapshot.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "items/config_tables.h"
#include "redis/keyspace/map.h"

namespace postern::redis {

/// Immutable.
class MapSnapshot {
 public:
  static constexpr uint32_t databases = 16;
  static constexpr uint32_t none = UINT32_MAX;

  MapSnapshot(std::vector<std::shared_ptr<const Map>> maps, std::string trouble);

  /// All of them, by database and prefix.
  std::span<const std::shared_ptr<const Map>> maps() const { return maps_; }
  /// Where the one stands in maps() that serves the key: it has the longest prefix. `none` if there is none.
  uint32_t find(uint32_t db, Bytes key) const;
  /// The one made of just this row; nullptr: there is none.
  std::shared_ptr<const Map> with_row(const MapRow &row) const;
  /// Those of one database: the first, and the one after the last.
  std::pair<uint32_t, uint32_t> of_database(uint32_t db) const { return databases_[db].range; }
  bool has_database(uint32_t db) const { return db == 0 || databases_[db].range.first != databases_[db].range.second; }
  /// Why there are none, for people; empty otherwise.
  const std::string &trouble() const { return trouble_; }

 private:
  struct Database {
    std::vector<size_t> prefix_lengths{};  // each once, the longest first
    std::unordered_map<Bytes, uint32_t> by_prefix{};
    std::pair<uint32_t, uint32_t> range{0, 0};
  };

  std::vector<std::shared_ptr<const Map>> maps_;
  std::string trouble_;
  std::array<Database, databases> databases_;
};

class Maps final : public items::ConfigTables {
 public:
  /// `tells`: logs new errors.
  explicit Maps(bool tells = true);

  /// nullptr before anything was read.
  std::shared_ptr<const MapSnapshot> snapshot() const;

  /// Publishes `read` as the newest snapshot, if it differs.
  void take(std::span<items::MappingTable> read, int64_t now_ms) override;

 private:
  const bool tells_;
  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::shared_ptr<const MapSnapshot> snapshot_;
};

}  // namespace postern::redis
