// mappings.h: Mappings, which containers there are: the tables in which a protocol keeps them, as they were read last.
//
// One for all sessions of a protocol. A session holds the snapshot it works with; a new `generation` means that there
// is another snapshot.
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
  std::string trouble{};              ///< why there is no container, for people
  std::vector<std::string> doubts{};  ///< what could not be read beside the containers
};

/// Where a protocol keeps its mapping, and what that means. All views live for ever.
struct MappingSource {
  using Table = ConfigTables::Table;

  Bytes protocol;  ///< its name in the log
  Bytes database;
  std::span<const Table> tables;
  Mapping (*understand)(std::span<const MappingTable> tables);  ///< in the order of `tables`
};

/// Immutable, and never empty-handed: without containers it says why.
struct Snapshot {
  std::vector<std::shared_ptr<const Container>> containers;  ///< by name
  std::shared_ptr<const Container> standard;                 ///< for connections that have named none
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
