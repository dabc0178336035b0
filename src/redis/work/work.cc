#include "redis/work/work.h"

#include "items/cas.h"
#include "items/expiry.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

Value type_value(Type type) {
  return Value::of_integer(static_cast<int64_t>(type));
}

}  // namespace

KeyState Work::state_of_cells(const Map &map, const Cells &cells) const {
  std::vector<Value> row(cells.size());
  for (size_t i = 0; i < row.size(); ++i)
    if (!cells[i].null) row[i] = Value::of(cells[i].text);
  return state_of(map, row, now_ms_);
}

uint64_t Work::fresh_version() {
  return items::next_cas();
}

Entry Work::entry_of(RowKey key, const KeyState &state) {
  char room[20];
  return {.key = std::string(key.text),
          .live = state.live,
          .type = state.type,
          .expires_ms = state.expires_ms,
          .version = state.version,
          .len = static_cast<int64_t>(state.len),
          .head = state.head,
          .value = std::string(text_of(state.value, room))};
}

OpenTable *Work::elements_of(Type type) {
  switch (type) {
    case Type::none:
    case Type::string: break;
    case Type::hash: return &elements(Elements::hashes);
    case Type::set: return &elements(Elements::sets);
    case Type::zset: return &elements(Elements::zsets);
    case Type::list: return &elements(Elements::lists);
    case Type::stream: return &elements(Elements::streams);
  }
  return nullptr;
}

std::vector<OpenTable *> Work::tables_of(Type type) {
  if (type == Type::stream)
    return {&elements(Elements::streams), &elements(Elements::stream_groups), &elements(Elements::stream_consumers),
            &elements(Elements::stream_pending)};
  OpenTable *const table = elements_of(type);
  if (table == nullptr) return {};
  return {table};
}

Task<Entry> Work::lock(RowKey key) {
  const StepReply &found = add_lock(open_->table, {.key = values({Value::of(key.text)}), .limit = 1});
  co_await go();
  if (found.rows.empty()) co_return Entry{.key = std::string(key.text)};
  Entry entry = entry_of(key, state_of_cells(*open_->map, found.rows.front()));
  if (entry.live) co_return entry;
  co_await clear(entry);
  co_return Entry{.key = std::string(key.text)};
}

Task<Entry> Work::make(RowKey key, Type type) {
  Entry met;
  bool there = false;
  EditBy look([&](Row row, Draft &) {
    met = entry_of(key, state_of(*open_->map, row, now_ms_));
    there = true;
    return Decision::keep;
  });
  for (;;) {
    there = false;
    add_insert(open_->table,
               {Value::of(key.text), Value::of_integer(0), Value::of_natural(items::next_cas()), type_value(type),
                Value::of_integer(0), Value::of_integer(0), Value::null()},
               OnDuplicate::decide, &look);
    co_await go();
    if (!there) co_return Entry{.key = std::string(key.text), .type = type};
    if (met.live) co_return met;
    co_await clear(met);
  }
}

/// Fills the row of a new key.
void Work::fill_row(RowKey key, const Entry &entry, std::span<Value> row) const {
  row[entry::key] = Value::of(key.text);
  row[entry::expires] = Value::of_integer(entry.expires_ms);
  row[entry::version] = Value::of_natural(fresh_version());
  row[entry::type] = type_value(entry.type);
  row[entry::len] = Value::of_integer(entry.len);
  row[entry::head] = Value::of_integer(entry.head);
  row[entry::value] = entry.type == Type::stream ? Value::of(entry.value) : Value::null();
}

void Work::draft(const Entry &entry, Row row, Draft &next) {
  next.set(entry::len, Value::of_integer(entry.len));
  next.set(entry::head, Value::of_integer(entry.head));
  next.set(entry::expires, Value::of_integer(entry.expires_ms));
  next.set(entry::version, Value::of_natural(static_cast<uint64_t>(integer_in(row[entry::version])) + 1));
}

void Work::add_store(const Entry &entry, StoreEdit &edit) {
  const Find find{.key = values({Value::of(entry.key)}), .limit = 1};
  if (entry.len == 0 && entry.type != Type::string) {
    add_erase(open_->table, find);
    note_erased(entry.key, ErasedKeys::Why::emptied);
  } else {
    add_edit(open_->table, find, edit);
  }
}

Task<> Work::store(const Entry &entry) {
  StoreEdit edit(entry);
  add_store(entry, edit);
  co_await go();
}

Task<> Work::clear(const Entry &entry) {
  note_erased(entry.key, entry.live ? ErasedKeys::Why::replaced : ErasedKeys::Why::expired);
  for (OpenTable *const table : tables_of(entry.type))
    add_erase(*table, {.key = values({Value::of(entry.key)}), .limit = all});
  co_await go();
  add_erase(open_->table, {.key = values({Value::of(entry.key)}), .limit = 1});
  co_await go();
}

Task<bool> Work::at_once(RowKey key, Type type, Entry &entry, Doing add, Doing count) {
  entry = {.key = std::string(key.text), .type = type};
  EditBy look([&](Row row, Draft &) {
    entry = entry_of(key, state_of(*open_->map, row, now_ms_));
    return entry.live && entry.type == type ? Decision::keep : Decision::refuse;
  });
  EditBy change([&](Row row, Draft &next) {
    if (!count()) return Decision::keep;
    draft(entry, row, next);
    return Decision::write;
  });
  const std::span<Value> row = values(entry::columns);
  fill_row(key, entry, row);
  const StepReply &made = add_insert(open_->table, row, OnDuplicate::decide, &look);
  add();
  add_edit(open_->table, {.key = values({Value::of(key.text)}), .limit = 1}, change);
  step().last_edit().same_row = true;
  co_await go_at_once();
  co_return made.failure == Failure::none;
}

Task<bool> Work::at_once_with(RowKey key, Type type, Entry &entry, Doing add, Doing meet, bool &refused) {
  entry = {.key = std::string(key.text), .type = type};
  EditBy look([&](Row row, Draft &next) {
    entry = entry_of(key, state_of(*open_->map, row, now_ms_));
    if (!entry.live || entry.type != type) return Decision::refuse;
    refused = !meet();
    if (refused) return Decision::refuse;
    draft(entry, row, next);
    if (type == Type::stream) next.set(entry::value, Value::of(entry.value));
    return Decision::write;
  });
  const std::span<Value> row = values(entry::columns);
  const StepReply &made = add_insert(open_->table, row, OnDuplicate::decide, &look);
  add();
  refused = !meet();
  if (refused) {
    // The existing key may differ.
    step().forget();
    co_return false;
  }
  fill_row(key, entry, row);
  co_await go_at_once();
  co_return made.failure == Failure::none;
}

Task<bool> Work::add_elements(RowKey key, Type type, Entry &entry, Doing add, Doing count) {
  for (;;) {
    const bool done = co_await at_once(key, type, entry, add, count);
    if (done) co_return true;
    const bool goes_on = co_await may_be_made(entry, type);
    if (!goes_on) co_return false;
  }
}

Task<bool> Work::add_elements_to(RowKey key, Type type, Entry &entry, Doing add, Doing meet) {
  for (;;) {
    bool refused = false;
    const bool done = co_await at_once_with(key, type, entry, add, meet, refused);
    if (done) co_return true;
    if (refused && !entry.live) {
      entry = co_await lock(key);
      if (entry.live && entry.type != type) writer().error(wrong_type);
    }
    if (refused) co_return false;
    const bool goes_on = co_await may_be_made(entry, type);
    if (!goes_on) co_return false;
  }
}

Task<bool> Work::change_elements(RowKey key, Type type, Entry &entry, Doing change, Doing count) {
  entry = {.key = std::string(key.text)};
  bool emptied = false;
  EditBy store([&](Row row, Draft &next) {
    entry = entry_of(key, state_of(*open_->map, row, now_ms_));
    if (!entry.live || entry.type != type || !count()) return Decision::keep;
    emptied = entry.len == 0;
    if (emptied) return Decision::erase;
    draft(entry, row, next);
    return Decision::write;
  });
  const Find find{.key = values({Value::of(key.text)}), .limit = 1};
  // Not by Verb::lock, with which the whole statement would lock gaps between elements.
  step().add_look(open_->table, find);
  change();
  add_edit(open_->table, find, store, true);
  step().last_edit().writes_too = step().last_edit().same_row = true;
  co_await go_at_once();
  if (emptied) note_erased(key.text, ErasedKeys::Why::emptied);
  const bool wrong = entry.live && entry.type != type;
  if (wrong) writer().error(wrong_type);
  co_return !wrong;
}

/// Whether a step may be tried again after meeting an existing key: an expired one is deleted. False after answering
/// that it has another type.
Task<bool> Work::may_be_made(const Entry &entry, Type type) {
  if (entry.live && entry.type != type) {
    writer().error(wrong_type);
    co_return false;
  }
  if (!entry.live) co_await clear(entry);
  co_return true;
}

OpenMap *open_for_work(Call &call, Bytes key) {
  const Place place = place_of(call, key);
  if (place.state != Place::State::there) {
    refuse_place(call, place);
    return nullptr;
  }
  if (!place.generic()) {
    refuse(call, wrong_type);
    return nullptr;
  }
  if (place.map().read_only()) {
    refuse_read_only(call, place);
    return nullptr;
  }
  open_elements(call, *place.open);
  return place.open;
}

void open_elements(Call &call, OpenMap &open) {
  if (open.elements_are_open()) return;
  for (const Elements which :
       {Elements::hashes, Elements::sets, Elements::zsets, Elements::zsets_by_score, Elements::lists, Elements::streams,
        Elements::stream_groups, Elements::stream_consumers, Elements::stream_pending})
    call.session.tables().open().open(open, which, call.batch);
}

}  // namespace postern::redis
