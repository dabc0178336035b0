#include <algorithm>
#include <span>

#include "redis/hashes/hash_ops.h"
#include "redis/registry/handlers.h"
#include "redis/work/element_reads.h"

namespace postern::redis {
namespace {

/// The answer for a field: `value` is NULL where there is none.
using TellField = void (*)(Writer &, const Value &value);

void tell_value(Writer &writer, const Value &value) {
  char room[20];
  value.is_null() ? writer.nil() : writer.bulk(text_of(value, room));
}
void tell_length(Writer &writer, const Value &value) {
  char room[20];
  writer.integer(static_cast<int64_t>(text_of(value, room).size()));
}
void tell_presence(Writer &writer, const Value &value) {
  writer.integer(value.is_null() ? 0 : 1);
}

struct FieldTell {
  TellField tell;
  bool told = false;
  static constexpr bool counted = false;

  void absent(Writer &writer) const { tell(writer, Value::null()); }
  void begin(Writer &, uint64_t) const {}
  void row(Writer &writer, Row row) {
    tell(writer, row[element::value]);
    told = true;
  }
  void end(Writer &writer, uint64_t rows) const {
    if (rows == 0) tell(writer, Value::null());
  }
};

Next read_field(Call &call, TellField tell) {
  const Place place = place_of(call, call.arguments[1]);
  if (place.state != Place::State::there || place.map().kind() == Map::Kind::value)
    return read_place(call, place, [tell](Writer &writer, const KeyState *state, Row) {
      state == nullptr ? tell(writer, Value::null()) : writer.error(wrong_type);
    });
  if (place.generic()) {
    const Find find{.key = element_key(call, place, Value::of(call.arguments[2])), .limit = 1};
    return read_elements(call, place, Elements::hashes, Type::hash, find, FieldTell{tell});
  }
  const RowFields fields = fields_of(call, place, 2, 1);
  return read_row(call, place, *fields.table,
                  [tell, at = fields.positions[0]](Writer &writer, const KeyState *state, Row row) {
                    tell(writer, state == nullptr || at == Map::no_column ? Value::null() : row[at]);
                  });
}

struct FieldOfMany {
  static void there(Writer &writer, Row row) { tell_value(writer, row[element::value]); }
  static void absent(Writer &writer) { writer.nil(); }
};
using FieldsTell = NamedTell<FieldOfMany>;

enum class Part : uint8_t { fields, values, both };

struct AllTell {
  Part part;
  static constexpr bool counted = true;

  void absent(Writer &writer) const { header(writer, 0); }
  uint64_t count(const KeyState &entry) const { return entry.len; }
  void begin(Writer &writer, uint64_t count) const { header(writer, count); }
  void row(Writer &writer, Row row) const {
    if (part != Part::values) writer.bulk(row[element::field].bytes());
    if (part != Part::fields) writer.bulk(row[element::value].bytes());
  }
  void end(Writer &, uint64_t) const {}
  void header(Writer &writer, size_t count) const { part == Part::both ? writer.map(count) : writer.array(count); }
};

void tell_row(Writer &writer, const Map &map, Row row, Part part) {
  const Row values = row.subspan(map.first_field());
  const AllTell tell{part};
  tell.header(writer, static_cast<size_t>(
                          std::count_if(values.begin(), values.end(), [](const Value &v) { return !v.is_null(); })));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    char room[20];
    if (part != Part::values) writer.bulk(map.fields()[i]);
    if (part != Part::fields) writer.bulk(text_of(values[i], room));
  }
}

Next read_all(Call &call, Part part) {
  const Bytes key = call.arguments[1];
  const Place place = place_of(call, key);
  if (place.state == Place::State::there && place.generic())
    return read_elements(call, place, Elements::hashes, Type::hash,
                         {.key = element_key(call, place), .limit = all_rows}, AllTell{part});
  return read_place(call, place,
                    [part, map = place.open == nullptr ? nullptr : place.open->map.get()](
                        Writer &writer, const KeyState *state, Row row) {
                      if (state == nullptr) return AllTell{part}.absent(writer);
                      if (state->type != Type::hash) return writer.error(wrong_type);
                      tell_row(writer, *map, row, part);
                    });
}

}  // namespace

namespace lower {

Next hget(Call &call) {
  return read_field(call, tell_value);
}

Next hstrlen(Call &call) {
  return read_field(call, tell_length);
}

Next hexists(Call &call) {
  return read_field(call, tell_presence);
}

Next hmget(Call &call) {
  const Bytes key = call.arguments[1];
  const auto wanted = call.arguments.subspan(2);
  const Place place = place_of(call, key);
  if (place.state == Place::State::there && place.generic()) {
    Find find{.in_part = 1, .key = element_key(call, place, Value::of(wanted[0])), .limit = all_rows};
    find.in_list = values_of(call, 2, 1);
    return read_elements(call, place, Elements::hashes, Type::hash, find, FieldsTell{wanted});
  }
  if (place.state != Place::State::there || place.map().kind() == Map::Kind::value)
    return read_place(call, place, [wanted](Writer &writer, const KeyState *state, Row) {
      state == nullptr ? FieldsTell{wanted}.absent(writer) : writer.error(wrong_type);
    });
  const RowFields fields = fields_of(call, place, 2, 1);
  return read_row(call, place, *fields.table,
                  [positions = fields.positions](Writer &writer, const KeyState *state, Row row) {
                    writer.array(positions.size());
                    for (const uint32_t at : positions)
                      tell_value(writer, state == nullptr || at == Map::no_column ? Value::null() : row[at]);
                  });
}

Next hgetall(Call &call) {
  return read_all(call, Part::both);
}

Next hkeys(Call &call) {
  return read_all(call, Part::fields);
}

Next hvals(Call &call) {
  return read_all(call, Part::values);
}

Next hlen(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  return read_place(
      call, place,
      [map = place.open == nullptr ? nullptr : place.open->map.get()](Writer &writer, const KeyState *state, Row row) {
        if (state == nullptr) return writer.integer(0);
        if (state->type != Type::hash) return writer.error(wrong_type);
        if (map->generic()) return writer.integer(static_cast<int64_t>(state->len));
        const Row values = row.subspan(map->first_field());
        writer.integer(
            std::count_if(values.begin(), values.end(), [](const Value &value) { return !value.is_null(); }));
      });
}

}  // namespace lower
}  // namespace postern::redis
