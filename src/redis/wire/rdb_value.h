// rdb_value.h: a key's value as DUMP writes it and RESTORE reads it.
//
// Total: any bytes. Values are written in the simplest encoding that Redis 7.0 reads, and read in all encodings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "redis/wire/stream_id.h"

namespace postern::redis::rdb {

struct DumpedEntry {
  StreamId id{};
  std::vector<std::string> fields{};  ///< and their values, in turn
};

struct DumpedPending {
  StreamId id{};
  int64_t delivered_ms = 0;
  uint64_t times = 0;
  std::string consumer{};
  bool owned = true;  ///< the consumer is known
};

struct DumpedConsumer {
  std::string name{};
  int64_t seen_ms = 0;
};

struct DumpedGroup {
  std::string name{};
  StreamId last{};
  std::optional<int64_t> read{};  ///< entries that it has read, -1: unknown; nullopt: an older Redis did not store that
  std::vector<DumpedConsumer> consumers{};
  std::vector<DumpedPending> pending{};  ///< in the order of their ids
};

struct DumpedStream {
  std::vector<DumpedEntry> entries{};
  StreamId last{};
  StreamId deleted{};
  uint64_t added = 0;
  std::vector<DumpedGroup> groups{};
};

struct DumpedValue {
  enum class Kind : uint8_t { string, list, set, hash, sorted_set, stream };
  Kind kind = Kind::string;
  /// The string; the elements or members; or a hash's fields and values alternating.
  std::vector<std::string> texts{};
  std::vector<double> scores{};  ///< scores of a sorted set's members
  DumpedStream stream{};
};

/// Writes a value with its footer.
std::string dump(const DumpedValue &value);

/// Reads a payload with a valid footer. False: Redis would refuse it, or it needs more than `bytes_max` of memory.
[[nodiscard]] bool restore(Bytes payload, size_t bytes_max, DumpedValue &value);

}  // namespace postern::redis::rdb
