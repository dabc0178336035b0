#include "redis/commands/pattern_reads.h"

#include "base/limits.h"
#include "redis/hashes/hash_ops.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

constexpr size_t read_at_once = 500;
constexpr size_t field_bytes_max = 512;

bool may_have(const Map &map, const Pattern &pattern) {
  return map.prefix().starts_with(pattern.before) || pattern.before.starts_with(map.prefix());
}

}  // namespace

Pattern::Pattern(Bytes text) {
  const size_t star = text.find('*');
  if (text == "#") names = Names::element;
  if (star == Bytes::npos) return;
  names = Names::key;
  before = text.substr(0, star);
  behind = text.substr(star + 1);
  const size_t arrow = behind.find("->");
  if (arrow == Bytes::npos || arrow + 2 == behind.size()) return;
  field = behind.substr(arrow + 2);
  behind = behind.substr(0, arrow);
}

std::string Pattern::key_of(Bytes element) const {
  std::string key(before);
  key.append(element).append(behind);
  return key;
}

bool open_for(Call &call, const Pattern &pattern) {
  if (pattern.names != Pattern::Names::key) return true;
  OpenMaps &maps = call.session.tables().open();
  const auto [first, last] = maps.snapshot()->of_database(call.session.client().database());
  for (uint32_t number = first; number != last; ++number) {
    const Map &map = *maps.snapshot()->maps()[number];
    if (!may_have(map, pattern)) continue;
    if (!map.problem().empty()) {
      refuse(call, "ERR mapping '" + map.row().prefix + "' cannot be used: ", map.problem());
      return false;
    }
    OpenMap &open = maps.open(number, call.batch);
    if (map.generic()) open_elements(call, open);
  }
  return true;
}

PatternWork::PatternWork(Call &call, OpenMap &open, bool locks)
    : ListWork(call, open),
      maps_(call.session.tables().open()),
      watching_(call.session.transaction()),
      database_(call.session.client().database()),
      locks_(locks) {}

Flow PatternWork::take_value(const Value &from, Cell &to) {
  char room[20];
  bytes_ -= to.text.size();
  to = {from.is_null(), std::string(text_of(from, room))};
  bytes_ += to.text.size();
  return bytes_ <= limits::edit_reply_bytes_max ? Flow::more : Flow::pause;
}

/// Adds reads of the key's row and of its field's. `fits`: the key has the wanted type.
void PatternWork::add_generic(OpenMap &open, RowKey key, const Pattern &pattern, Cell &value, char &fits) {
  const Type type = pattern.has_field() ? Type::hash : Type::string;
  fits = 0;
  StepReply &found = add_looking(open.table, {.key = values({Value::of(key.text)}), .limit = 1});
  found.hears = [this, &map = *open.map, &value, &fits, type](Row row, uint64_t) {
    const KeyState state = state_of(map, row, now_ms());
    fits = state.live && state.type == type ? 1 : 0;
    return fits != 0 && type == Type::string ? take_value(state.value, value) : Flow::more;
  };
  if (!pattern.has_field()) return;
  OpenTable &hashes = *open.elements[static_cast<size_t>(Elements::hashes)];
  StepReply &element =
      add_looking(hashes, {.key = values({Value::of(key.text), Value::of(pattern.field)}), .limit = 1});
  element.hears = [this, &value](Row row, uint64_t) { return take_value(row[element::value], value); };
}

void PatternWork::add_mapped(OpenMap &open, Bytes key, const Pattern &pattern, Cell &value) {
  const Map &map = *open.map;
  const bool is_row = map.kind() == Map::Kind::row;
  const uint32_t field = is_row ? map.find_field(pattern.field) : 0;
  if (is_row != pattern.has_field() || field == Map::no_column) return;
  const std::span<Value> place = values(map.key_columns());
  if (!split_key(map, keep_text(std::string(key)), place)) return;
  WatchedRead watched(watching_.watched(database_, key));
  StepReply &found = add_looking(open.table, {.key = place, .limit = 1});
  found.hears = [this, &map, &value, watched, column = map.first_field() + field](Row row, uint64_t) mutable {
    watched.note(map, row, now_ms());
    return state_of(map, row, now_ms()).live ? take_value(row[column], value) : Flow::more;
  };
}

Task<> PatternWork::look_up(const Pattern &pattern, std::span<const Bytes> elements, std::vector<Cell> &values) {
  values.assign(elements.size(), {});
  if (pattern.names == Pattern::Names::nothing) co_return;
  std::vector<char> fits(elements.size(), 1);
  size_t under_way = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (pattern.names == Pattern::Names::element) {
      values[i] = {false, std::string(elements[i])};
      continue;
    }
    const std::string key = pattern.key_of(elements[i]);
    OpenMap *const open = maps_.opened(database_, key);
    if (open == nullptr) continue;
    if (open->map->generic()) {
      if (key.size() > entry::key_bytes_max || pattern.field.size() > field_bytes_max) continue;
      add_generic(*open, {*open->map, keep_text(key)}, pattern, values[i], fits[i]);
      if (++under_way < read_at_once) continue;
    } else {
      // In a step of its own, because a key that does not fit its column ends the step.
      co_await go();
      add_mapped(*open, key, pattern, values[i]);
    }
    co_await go();
    under_way = 0;
  }
  co_await go();
  for (size_t i = 0; i < values.size(); ++i)
    if (fits[i] == 0) values[i] = {};
}

}  // namespace postern::redis
