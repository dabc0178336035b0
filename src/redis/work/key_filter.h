// key_filter.h: KeyFilter, which selects the keys that SCAN and KEYS return, and their walk through the tables of
// mappings.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "redis/call.h"
#include "redis/keyspace/open_maps.h"

namespace postern::redis {

/// Opens the rows of a mapping without their values.
OpenTable &open_keys(Call &call, OpenMap &open);

/// Which keys are returned.
struct KeyFilter {
  Bytes pattern = "*";
  Type type = Type::none;  ///< none: keys of any type
  bool no_type = false;    ///< a type that no key has
  int64_t now_ms = 0;
  uint32_t db = 0;
  const MapSnapshot *snapshot = nullptr;
  uint32_t map_number = 0;

  /// For a row of open_keys(): sets `key`. A key that another mapping serves, by a longer prefix, is not returned.
  bool takes(const Map &map, Row row, std::string &key) const;
  /// Whether keys of the mapping can match the pattern.
  bool may_take(const Map &map) const;
  /// The first mapping at or after `number` with keys that may match the pattern, or MapSnapshot::none.
  uint32_t next_map(uint32_t number) const;
};

/// Whether to pass over a mapping after this failure: the account may not read it, or its table does not fit the
/// mapping.
inline bool is_passed_over(Failure failure) {
  return failure == Failure::privilege_denied || kind_of(failure) == FailureKind::schema;
}

/// For the database that the client has selected.
KeyFilter filter_of(Call &call, Bytes pattern);

}  // namespace postern::redis
