// key_state.h: KeyState, the state of a key from its row, and conversions of row values to numbers and texts.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "contract/value.h"
#include "redis/keyspace/map.h"

namespace postern::redis {

/// The state in the row of a key.
struct KeyState {
  bool live = false;     ///< the key exists
  bool expired = false;  ///< the key has expired
  /// The key is no string, or a string that replaced another type: the tables of elements may have rows of it.
  bool has_elements = false;
  Type type = Type::none;
  int64_t expires_ms = 0;  ///< 0: never
  uint64_t version = 0;
  uint64_t len = 0;
  int64_t head = 0;
  Value value{};  ///< a string's; as the row's
};
KeyState state_of(const Map &map, Row row, int64_t now_ms);
/// The same of a row of Map::string_spec(): without version, length and head.
KeyState string_state_of(const Map &map, Row row, int64_t now_ms);

/// Parses an integer as INCR does. False: it is none.
bool integer_of(const Value &value, int64_t &number);
/// A number in a row: 0 for NULL and other texts.
int64_t integer_in(const Value &value);

/// The maximum length of a key. A larger number in its row, which SQL may have written, counts as this, so that sums of
/// a few lengths fit in 64 bits.
inline constexpr uint64_t elements_max = uint64_t{1} << 60;

/// The text of a value; numbers are written to `room`, of 20 bytes. NULL has none.
Bytes text_of(const Value &value, char *room);

}  // namespace postern::redis
