#include "redis/keyspace/key_state.h"

#include <algorithm>
#include <limits>

#include "items/expiry.h"
#include "redis/wire/numbers.h"

namespace postern::redis {

bool integer_of(const Value &value, int64_t &number) {
  switch (value.kind()) {
    case Value::Kind::null: number = 0; return true;
    case Value::Kind::integer: number = value.integer(); return true;
    case Value::Kind::natural:
      number = static_cast<int64_t>(value.natural());
      return value.natural() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    case Value::Kind::bytes: return parse_integer(value.bytes(), number);
  }
  return false;
}

int64_t integer_in(const Value &value) {
  int64_t number = 0;
  return integer_of(value, number) ? number : 0;
}

Bytes text_of(const Value &value, char *room) {
  switch (value.kind()) {
    case Value::Kind::null: return {};
    case Value::Kind::bytes: return value.bytes();
    case Value::Kind::integer: return {room, static_cast<size_t>(print_integer(room, value.integer()) - room)};
    case Value::Kind::natural: return {room, static_cast<size_t>(print_natural(room, value.natural()) - room)};
  }
  return {};
}

namespace {

Type stored_type(const Value &value) {
  const int64_t type = integer_in(value);
  return type > 0 && type <= static_cast<int64_t>(Type::stream) ? static_cast<Type>(type) : Type::none;
}

}  // namespace

KeyState string_state_of(const Map &map, Row row, int64_t now_ms) {
  KeyState state;
  state.expires_ms = map.expires_ms(row[string_entry::expires]);
  state.expired = items::is_expired(state.expires_ms, now_ms);
  state.type = stored_type(row[string_entry::type]);
  state.value = row[string_entry::value];
  state.live = !state.expired && state.type != Type::none;
  return state;
}

KeyState state_of(const Map &map, Row row, int64_t now_ms) {
  KeyState state;
  state.expires_ms = map.expires_ms(row);
  state.expired = items::is_expired(state.expires_ms, now_ms);
  if (map.keeps_version()) state.version = static_cast<uint64_t>(integer_in(row[map.version_column()]));
  switch (map.kind()) {
    case Map::Kind::row: state.type = Type::hash; break;
    case Map::Kind::value:
      state.value = row[map.first_field()];
      state.type = state.value.is_null() ? Type::none : Type::string;
      break;
    case Map::Kind::generic: {
      state.type = stored_type(row[entry::type]);
      state.len = std::min(static_cast<uint64_t>(integer_in(row[entry::len])), elements_max);
      state.head = integer_in(row[entry::head]);
      state.value = row[entry::value];
      state.has_elements = state.type != Type::string || state.len != 0;
      break;
    }
  }
  state.live = !state.expired && state.type != Type::none;
  return state;
}

}  // namespace postern::redis
