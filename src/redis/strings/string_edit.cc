#include "redis/strings/string_edit.h"

#include "items/cas.h"
#include "redis/work/edit_or_insert.h"
#include "redis/work/instead.h"
#include "redis/work/work.h"

namespace postern::redis {

Decision StringEdit::present(Row row, Draft &draft) {
  const KeyState now = state_of(*open_.map, row, now_ms());
  StringDraft next(draft, *open_.map, now);
  Decision decision = Decision::keep;
  if (now.live) {
    met_ = now.type == Type::string ? Met::string : Met::other_type;
    if (met_ == Met::string || replaces()) decision = change(now, next);
  } else if (creates_) {
    next.set(initial_);
    next.expire(initial_expires_ms_);
    decision = Decision::write;
  }
  // Rows of elements go with their key: that takes several steps.
  if (decision != Decision::keep && now.has_elements) {
    restart();
    return Decision::alone;
  }
  if (decision != Decision::write) return decision;
  next.become_string();
  next.count_version();
  return decision;
}

void StringEdit::done(const Outcome &given) {
  const Outcome outcome = how(given);
  // No row has a key that does not fit its column.
  const bool no_row = outcome.failure == Failure::bad_key_value && !creates_;
  if (outcome.failure != Failure::none && !no_row) return fail(outcome);
  if (passage_.begun()) return;
  if (met_ == Met::other_type && !replaces()) return begin().error(wrong_type);
  tell(begin());
}

void StringEdit::restart() {
  passage_.take_back();
  met_ = Met::nothing;
  forget();
}

void StringEdit::fill(std::span<Value> row) const {
  const Map &map = *open_.map;
  if (map.keeps_expiry()) row[map.expiry_column()] = Value::of_integer(map.to_column(initial_expires_ms_));
  if (map.keeps_version()) row[map.version_column()] = Value::of_natural(items::next_cas());
  if (!map.generic()) {
    row[map.first_field()] = initial_;
    return;
  }
  row[entry::type] = Value::of_integer(static_cast<int64_t>(Type::string));
  row[entry::len] = Value::of_integer(0);
  row[entry::head] = Value::of_integer(0);
  row[entry::value] = initial_;
}

bool may_write_string(Call &call, const Place &place) {
  if (place.state != Place::State::there) {
    refuse_place(call, place);
    return false;
  }
  if (place.map().kind() == Map::Kind::row) refuse(call, wrong_type);
  else if (place.map().read_only()) refuse_read_only(call, place);
  else return true;
  return false;
}

Next write_string(Call &call, const Place &place, StringEdit &edit, bool reads, bool erases) {
  Arena &arena = call.arena();
  const Map &map = place.map();
  if (map.generic()) open_elements(call, *place.open);
  if (edit.creates() && map.may_create()) {
    const size_t columns = map.generic() ? entry::columns : map.first_field() + 1;
    const std::span<Value> row = arena.array<Value>(columns);
    std::copy(place.key.begin(), place.key.end(), row.begin());
    edit.fill(row);
    Insert &insert = *arena.make<Insert>(Insert{
        .values = row, .on_duplicate = OnDuplicate::decide, .edit = &edit, .reads_old_values = reads || map.generic()});
    if (!map.generic()) return edit_or_insert(call, place, place.open->table, insert, edit);
    Op &op = add_op(call, Verb::insert, place.open->table, edit);
    op.insert = &insert;
    insert.script = script_instead(call, place, op, edit);
    return Next::go_on;
  }
  EditRows &rows = *arena.make<EditRows>(Find{.key = place.key, .limit = 1}, &edit);
  rows.erases = erases;
  rows.reads_old_values = true;
  Op &op = add_op(call, Verb::edit, place.open->table, edit);
  op.edit = &rows;
  if (map.generic()) rows.script = script_instead(call, place, op, edit);
  return Next::go_on;
}

}  // namespace postern::redis
