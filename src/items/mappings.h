// mappings.h: Mappings, the containers of a protocol, from their tables as last read.
//
// One for all sessions of a protocol. A session holds the snapshot that it works with; a new `generation` announces
// another snapshot.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "items/config_tables.h"
#include "items/container.h"

namespace postern::items {

/// The contents of a mapping's tables.
struct Mapping {
  std::vector<ContainerRow> rows{};
  std::string delimiter = ".";        ///< between a container's name and the key, where clients name one
  std::string trouble{};              ///< why there is no container
  std::vector<std::string> doubts{};  ///< errors in other tables than containers
};

/// The tables of a protocol's mapping, and their parser. All views live for ever.
struct MappingSource {
  using Table = ConfigTables::Table;

  Bytes protocol;  ///< its name in the log
  Bytes database;
  std::span<const Table> tables;
  Mapping (*understand)(std::span<const MappingTable> tables);  ///< in the order of `tables`
};

/// Immutable; without containers it has the reason.
struct Snapshot {
  std::vector<std::shared_ptr<const Container>> containers;  ///< by name
  std::shared_ptr<const Container> standard;                 ///< for connections that have not chosen one
  std::string delimiter;
  std::string trouble;
  std::vector<std::string> doubts;

  std::shared_ptr<const Container> find(Bytes name) const;
};

class Mappings final : public ConfigTables {
 public:
  /// `source` outlives it.
  explicit Mappings(const MappingSource &source) : ConfigTables(source.database, source.tables), source_(source) {}

  std::shared_ptr<const Snapshot> snapshot() const;

  /// Publishes `read` as the newest snapshot, if it differs. Logs new errors.
  void publish(Mapping mapping, int64_t now_ms);
  void take(std::span<MappingTable> read, int64_t now_ms) override { publish(source_.understand(read), now_ms); }

 private:
  void log_news(const Snapshot *before, const Snapshot &fresh) const;

  const MappingSource &source_;
  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace postern::items
