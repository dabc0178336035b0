// open_maps.h: OpenMaps, the mappings that one session has open, and Place, the place of a key.
//
// Owned by its session. Ops and replies point into it, which lives until they are settled.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contract/batch.h"
#include "contract/table.h"
#include "redis/keyspace/maps.h"

namespace postern::redis {

/// One table that a session has open.
struct OpenTable {
  TableSlot slot;
  bool opening = false;             ///< in this batch
  Failure failure = Failure::none;  ///< why it could not be opened
  std::string message{};
  int64_t looked_ms = 0;  ///< when to retry a missing table, by clock_ms()
};

/// The tables beside the entries of a generic keyspace.
enum class Elements : uint8_t {
  hashes,
  sets,
  zsets,
  zsets_by_score,
  lists,
  // A keyspace made by an older script lacks these.
  streams,
  stream_groups,
  stream_consumers,
  stream_pending,
};
inline constexpr size_t element_tables = 9;

struct OpenMap {
  explicit OpenMap(std::shared_ptr<const Map> what) : map(std::move(what)) {}

  /// Why an op on one of the tables failed. Empty: use the failure's own text.
  static Bytes message(const OpenTable &table, const Outcome &outcome) {
    return outcome.failure == Failure::not_open && table.failure != Failure::none ? Bytes(table.message)
                                                                                  : outcome.message;
  }

  bool elements_are_open() const {
    return std::all_of(elements.begin(), elements.end(),
                       [](const auto &one) { return one != nullptr && one->slot.filled(); });
  }
  bool has_streams() const {
    const auto &streams = elements[static_cast<size_t>(Elements::streams)];
    return streams != nullptr && streams->slot.filled();
  }

  /// A table opened with some fields only.
  struct Part {
    std::vector<uint32_t> fields;
    OpenTable table;
  };
  static constexpr size_t parts_max = 64;

  const std::shared_ptr<const Map> map;
  OpenTable table;                                                    ///< all columns
  std::array<std::unique_ptr<OpenTable>, element_tables> elements{};  ///< a generic keyspace's
  std::unique_ptr<OpenTable> strings{};                               ///< likewise: the columns for reading strings
  std::vector<std::unique_ptr<Part>> parts{};                         ///< the last used is last
  std::vector<std::string> expired{};  ///< keys that were found expired, without their prefix
  bool may_erase = true;               ///< false once an expired key could not be deleted
};

/// The place of a key, or why it has none.
struct Place {
  enum class State : uint8_t {
    there,
    unmapped,  ///< no mapping serves the key
    broken,    ///< the mapping cannot be used; `why` says so
    no_row,    ///< no row can have the key: it has too few parts
  };
  State state = State::unmapped;
  OpenMap *open = nullptr;
  std::span<const Value> key{};  ///< the key columns'
  Bytes name{};                  ///< the key as the client sent it
  Bytes why{};

  const Map &map() const { return *open->map; }
  bool generic() const { return open != nullptr && open->map->generic(); }
};

/// The parts of a key for the mapping's key columns, as views of the key. False: too few.
bool split_key(const Map &map, Bytes key, std::span<Value> values);

class OpenMaps {
 public:
  /// Call it between batches only: ops point into the mappings until they are settled.
  void use(std::shared_ptr<const MapSnapshot> snapshot);
  const MapSnapshot *snapshot() const { return snapshot_.get(); }

  /// The key's place. Adds the op that opens its table if it is not open.
  Place find(uint32_t db, Bytes key, Batch &batch);
  /// The mapping that serves the key, if its table was opened before; else nullptr.
  OpenMap *opened(uint32_t db, Bytes key) const;
  /// The mapping at a position of snapshot()->maps(), with its table opened.
  OpenMap &open(uint32_t number, Batch &batch);
  /// A table of a generic keyspace.
  OpenTable &open(OpenMap &open, Elements elements, Batch &batch);
  /// The table for reading strings of a generic keyspace, with few columns: a column that is not read costs nothing.
  OpenTable &open_strings(OpenMap &open, Batch &batch);
  /// The table with only these fields; nullptr: too many such tables are open. `fields` is sorted, without duplicates.
  OpenTable *open(OpenMap &open, std::span<const uint32_t> fields, Batch &batch);

  /// Whether the table is one of a generic keyspace.
  bool in_keyspace(const TableSlot &slot) const;

  /// The ops of the last batch are done.
  void settled();

 private:
  std::shared_ptr<const MapSnapshot> snapshot_;
  std::vector<std::unique_ptr<OpenMap>> open_;  // by position in the snapshot
  std::vector<OpenTable *> opening_;            // in this batch
};

}  // namespace postern::redis
