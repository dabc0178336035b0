#include "redis/hashes/row_hash.h"

#include <algorithm>
#include <string>

#include "items/cas.h"
#include "redis/call_tables.h"
#include "redis/work/edit_or_insert.h"

namespace postern::redis {

RowFields fields_of(Call &call, const Place &place, size_t first, size_t step) {
  const Map &map = place.map();
  const size_t count = (call.arguments.size() - first + step - 1) / step;
  Arena &arena = call.arena();
  RowFields fields{.positions = arena.array<uint32_t>(count)};
  const std::span<uint32_t> sorted = arena.array<uint32_t>(count);
  size_t known = 0;
  for (size_t i = 0; i < count; ++i) {
    fields.positions[i] = map.find_field(call.arguments[first + i * step]);
    if (fields.positions[i] != Map::no_column) sorted[known++] = fields.positions[i];
  }
  std::sort(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(known));
  const auto last = std::unique(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(known));
  const std::span<const uint32_t> wanted(sorted.begin(), last);
  const bool watched = WatchedRead(call, place).needed();
  fields.table = watched ? nullptr : tables_of(call).open().open(*place.open, wanted, call.batch);
  const bool whole = fields.table == nullptr;
  if (whole) fields.table = &place.open->table;
  for (uint32_t &position : fields.positions) {
    if (position == Map::no_column) continue;
    const auto at = std::lower_bound(wanted.begin(), wanted.end(), position);
    position = map.first_field() + (whole ? position : static_cast<uint32_t>(at - wanted.begin()));
  }
  return fields;
}

bool has_all_fields(Call &call, const Place &place, const RowFields &fields, size_t first, size_t step) {
  for (size_t i = 0; i < fields.positions.size(); ++i) {
    if (fields.positions[i] != Map::no_column) continue;
    refuse(call, "ERR no such field '" + std::string(call.arguments[first + i * step].substr(0, 128)) + "' in '" +
                     place.map().place() + "'");
    return false;
  }
  return true;
}

std::vector<Cells> elements_of_row(const Map &map, Row row) {
  std::vector<Cells> elements;
  const Row values = row.subspan(map.first_field());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    char room[20];
    elements.push_back({{}, {false, std::string(map.fields()[i])}, {false, std::string(text_of(values[i], room))}});
  }
  return elements;
}

Decision RowEdit::present(Row row, Draft &draft) {
  const Map &map = *open_.map;
  const KeyState now = state_of(map, row, now_ms());
  if (!now.live) return Decision::keep;
  found_ = true;
  const Decision decision = change(row, draft);
  if (decision == Decision::write && map.keeps_version())
    draft.set(map.version_column(), Value::of_natural(now.version + 1));
  return decision;
}

void RowEdit::done(const Outcome &given) {
  const Outcome outcome = how(given);
  const bool no_row = outcome.failure == Failure::bad_key_value && !creates_;
  if (outcome.failure != Failure::none && !no_row) return fail(outcome);
  if (passage_.begun()) return;
  tell(begin());
}

void RowEdit::restart() {
  passage_.take_back();
  found_ = false;
  forget();
}

Next write_row(Call &call, const Place &place, const RowFields &fields, RowEdit &edit, std::span<const Value> values) {
  Arena &arena = call.arena();
  const Map &map = place.map();
  if (!values.empty() && map.may_create()) {
    edit.let_create();
    size_t columns = map.first_field();
    for (const uint32_t position : fields.positions) columns = std::max<size_t>(columns, position + 1);
    const std::span<Value> row = arena.array<Value>(columns);
    std::copy(place.key.begin(), place.key.end(), row.begin());
    if (map.keeps_expiry()) row[map.expiry_column()] = Value::of_integer(0);
    if (map.keeps_version()) row[map.version_column()] = Value::of_natural(items::next_cas());
    for (size_t i = 0; i < values.size(); ++i) row[fields.positions[i]] = values[i];
    const Insert insert{.values = row, .on_duplicate = OnDuplicate::decide, .edit = &edit, .reads_old_values = true};
    return edit_or_insert(call, place, *fields.table, insert, edit);
  }
  EditRows &rows = *arena.make<EditRows>(Find{.key = place.key, .limit = 1}, &edit);
  rows.reads_old_values = true;
  add_op(call, Verb::edit, *fields.table, edit).edit = &rows;
  return Next::go_on;
}

}  // namespace postern::redis
