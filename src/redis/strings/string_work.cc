#include "redis/strings/string_work.h"

#include <algorithm>

#include "items/cas.h"

namespace postern::redis {

Task<StringWork::Held> StringWork::hold(const Place &place) {
  use(*place.open);
  if (place.generic()) {
    Entry entry = co_await lock(RowKey(place));
    co_return Held{
        .there = entry.live, .type = entry.type, .text = std::move(entry.value), .expires_ms = entry.expires_ms};
  }
  const StepReply &found = add_lock(open().table, {.key = place.key, .limit = 1});
  co_await go();
  co_return held_in(place, found);
}

Task<StringWork::Held> StringWork::see(const Place &place) {
  use(*place.open);
  const StepReply &found = add_find(open().table, {.key = place.key, .limit = 1});
  co_await go();
  co_return held_in(place, found);
}

StringWork::Held StringWork::held_in(const Place &place, const StepReply &found) const {
  if (found.rows.empty()) return {};
  const Cells &cells = found.rows.front();
  const KeyState state = state_of_cells(place.map(), cells);
  if (!state.live) return {};
  Held held{.there = true, .type = state.type, .expires_ms = state.expires_ms};
  if (state.type == Type::string) held.text = cells[place.generic() ? entry::value : place.map().first_field()].text;
  return held;
}

Task<> StringWork::set(const Place &place, Bytes value, int64_t expires_ms) {
  use(*place.open);
  if (place.generic()) {
    const Entry entry = co_await lock(RowKey(place));
    if (entry.live && entry.type != Type::string) co_await clear(entry);
  }
  add_insert(open().table, row_of(place, value, expires_ms), OnDuplicate::update);
  co_await go();
}

Task<> StringWork::remove(const Place &place) {
  use(*place.open);
  if (place.generic()) {
    const Entry entry = co_await lock(RowKey(place));
    if (entry.live) co_await clear(entry);
    co_return;
  }
  add_erase(open().table, {.key = place.key, .limit = 1});
  co_await go();
}

std::span<const Value> StringWork::row_of(const Place &place, Bytes value, int64_t expires_ms) {
  const Map &map = place.map();
  const std::span<Value> row = values(map.generic() ? entry::columns : map.first_field() + 1);
  std::copy(place.key.begin(), place.key.end(), row.begin());
  if (map.keeps_expiry()) row[map.expiry_column()] = Value::of_integer(map.to_column(expires_ms));
  if (map.keeps_version()) row[map.version_column()] = Value::of_natural(items::next_cas());
  if (!map.generic()) {
    row[map.first_field()] = Value::of(value);
    return row;
  }
  row[entry::type] = Value::of_integer(static_cast<int64_t>(Type::string));
  row[entry::len] = Value::of_integer(0);
  row[entry::head] = Value::of_integer(0);
  row[entry::value] = Value::of(value);
  return row;
}

}  // namespace postern::redis
