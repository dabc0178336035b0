#include "redis/work/key_filter.h"

#include <algorithm>

#include "redis/call_tables.h"
#include "redis/wire/glob.h"
#include "redis/work/key_ops.h"

namespace postern::redis {
namespace {

/// The key of a row of open_keys(), as a client has it.
void put_key(const Map &map, Row row, std::string &key) {
  key = map.prefix();
  for (uint32_t i = 0; i < map.key_columns(); ++i) {
    char room[20];
    if (i != 0) key += map.row().separator;
    key += text_of(row[i], room);
  }
}

/// The key of a row of open_keys().
Type type_in(const Map &map, Row row) {
  switch (map.kind()) {
    case Map::Kind::row: return Type::hash;
    case Map::Kind::value: return Type::string;
    case Map::Kind::generic: break;
  }
  const int64_t type = integer_in(row[map.first_field()]);
  return type > 0 && type <= static_cast<int64_t>(Type::stream) ? static_cast<Type>(type) : Type::none;
}

}  // namespace

OpenTable &open_keys(Call &call, OpenMap &open) {
  static constexpr uint32_t type_field[] = {0};
  const std::span<const uint32_t> fields = open.map->generic() ? std::span(type_field) : std::span<const uint32_t>{};
  OpenTable *const table = tables_of(call).open().open(open, fields, call.batch);
  return table != nullptr ? *table : open.table;
}

bool KeyFilter::takes(const Map &map, Row row, std::string &key) const {
  const int64_t expires_ms = map.expires_ms(row);
  if (expires_ms != 0 && expires_ms <= now_ms) return false;
  const Type its = type_in(map, row);
  if (no_type || its == Type::none || (type != Type::none && type != its)) return false;
  put_key(map, row, key);
  return (pattern == "*" || glob_matches(pattern, key)) && snapshot->find(db, key) == map_number;
}

bool KeyFilter::may_take(const Map &map) const {
  const Bytes beginning = glob_prefix(pattern);
  const size_t both = std::min(beginning.size(), map.prefix().size());
  return map.may_scan() && map.problem().empty() && beginning.substr(0, both) == map.prefix().substr(0, both);
}

uint32_t KeyFilter::next_map(uint32_t number) const {
  const auto [first, end] = snapshot->of_database(db);
  for (number = std::max(number, first); number < end; ++number)
    if (may_take(*snapshot->maps()[number])) return number;
  return MapSnapshot::none;
}

KeyFilter filter_of(Call &call, Bytes pattern) {
  return {.pattern = pattern,
          .now_ms = call.now_ms,
          .db = database_of(call),
          .snapshot = tables_of(call).open().snapshot()};
}

}  // namespace postern::redis
