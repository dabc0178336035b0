// maps.h: Maps, the mappings of postern.redis_maps as last read, and MapSnapshot, which finds the mapping of a key.
//
// One for all sessions of a protocol. A session holds the snapshot that it works with; a new `generation` announces
// another snapshot.
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

  /// All mappings, by database and prefix.
  std::span<const std::shared_ptr<const Map>> maps() const { return maps_; }
  /// The position in maps() of the mapping that serves the key: the one with the longest prefix. `none`: there is none.
  uint32_t find(uint32_t db, Bytes key) const;
  /// The mapping made of exactly this row; nullptr: none.
  std::shared_ptr<const Map> with_row(const MapRow &row) const;
  /// The mappings of one database: first, and one past the last.
  std::pair<uint32_t, uint32_t> of_database(uint32_t db) const { return databases_[db].range; }
  bool has_database(uint32_t db) const { return db == 0 || databases_[db].range.first != databases_[db].range.second; }
  /// Why there are no mappings; empty otherwise.
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
  /// `tells`: whether to log new errors.
  explicit Maps(bool tells = true);

  /// nullptr before the first reading.
  std::shared_ptr<const MapSnapshot> snapshot() const;

  /// Publishes `read` as the newest snapshot, if it differs.
  void take(std::span<items::MappingTable> read, int64_t now_ms) override;

 private:
  const bool tells_;
  mutable std::mutex mutex_;  // a leaf; guards the members below
  std::shared_ptr<const MapSnapshot> snapshot_;
};

}  // namespace postern::redis
