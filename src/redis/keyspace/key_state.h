// key_state.h: KeyState, the state of a key as its row has it, and values of rows as numbers and texts.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "contract/value.h"
#include "redis/keyspace/map.h"

namespace postern::redis {

/// The state in the row of a key.
struct KeyState {
  bool live = false;     ///< there is such a key
  bool expired = false;  ///< there was one
  /// Not a string, or one that has taken the place of something else: there may be rows in the tables of elements.
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

/// What counting commands take for an integer. False: it is none.
bool integer_of(const Value &value, int64_t &number);
/// A number in a row: 0 for NULL and other texts.
int64_t integer_in(const Value &value);

/// A key that has more in its row's words, which SQL may have written, is one that has so many: sums of a few such
/// numbers have room in 64 bits.
inline constexpr uint64_t elements_max = uint64_t{1} << 60;

/// The text of a value; a number's is written to `room`, of 20 bytes. NULL has none.
Bytes text_of(const Value &value, char *room);

}  // namespace postern::redis
