#include "redis/work/work.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/limits.h"
#include "base/pool.h"
#include "items/cas.h"
#include "items/expiry.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

/// Of a step that makes a key, adds an element to it and counts that, or has one more such element.
constexpr size_t ops_usual = 4;

/// Deletes whatever it is shown.
class EraseEdit final : public Edit {
 public:
  Decision present(Row, Draft &) override { return Decision::erase; }
};
EraseEdit erase_edit;

/// Keeps whatever it is shown.
class KeepEdit final : public Edit {
 public:
  Decision present(Row, Draft &) override { return Decision::keep; }
};
KeepEdit keep_edit;

Value type_value(Type type) {
  return Value::of_integer(static_cast<int64_t>(type));
}

}  // namespace

int64_t Cell::integer() const {
  return null ? 0 : integer_in(Value::of(text));
}

Flow StepReply::row(Row row) {
  const uint64_t before = met++;
  if (hears) return hears(row, before);
  Cells &cells = rows.emplace_back();
  cells.reserve(row.size());
  for (const Value &value : row) {
    char room[20];
    cells.push_back({value.is_null(), std::string(text_of(value, room))});
    bytes_ += sizeof(Cell) + cells.back().text.size();
  }
  return rows.size() == 1 || bytes_ <= limits::edit_reply_bytes_max ? Flow::more : Flow::pause;
}

void StepReply::restart() {
  rows.clear();
  met = changed = about = bytes_ = 0;
  failure = Failure::none;
  message.clear();
}

void StepReply::done(const Outcome &outcome) {
  changed = outcome.changed;
  about = outcome.rows;
  failure = outcome.failure;
  message = outcome.message;
}

int64_t changed_by(std::span<const StepReply *const> replies) {
  int64_t changed = 0;
  for (const StepReply *const reply : replies) changed += static_cast<int64_t>(reply->changed);
  return changed;
}

void *Work::operator new(size_t bytes) {
  char *const data = pool::acquire(bytes).data;
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void Work::operator delete(void *work, size_t bytes) {
  pool::release({static_cast<char *>(work), std::bit_ceil(std::max(bytes, limits::block_bytes_min))});
}

void Work::tell_erased_to(Call &call) {
  if (!call.session.announces()) return;
  erased_to_ = &call.session.erased();
  erased_ = std::make_unique<ErasedKeys>();
}

void Work::note_erased(Bytes key, ErasedKeys::Why why) {
  if (erased_ != nullptr) erased_->note(open_->map->prefix(), key, why);
}

Script::Step Work::begin() {
  if (erased_ != nullptr) erased_->all.clear();
  failure_ = Failure::none;
  at_once_ = false;
  unanswer();
  ops_.clear();
  stepped_ = true;
  begin_step();
  task_ = run();
  waiting_ = task_.handle();
  return next();
}

Script::Step Work::next() {
  if (!std::exchange(stepped_, true)) {
    for (size_t i = 0; i < replies_.size(); ++i) {
      StepReply &reply = replies_[i];
      if (is_borne(reply)) continue;
      failed(reply);
      failure_ = reply.failure;
      message_ = std::move(reply.message);
      // All of a step fail with the one that could not be opened.
      const auto broken = std::find_if(tables_.begin(), tables_.end(),
                                       [](const OpenTable *table) { return table->failure != Failure::none; });
      failed_table_ = broken == tables_.end() ? tables_[i] : *broken;
      return {.what = Step::What::undo};
    }
  }
  waiting_.resume();
  if (!task_.handle().done()) return {.what = Step::What::run, .ops = ops_, .last = at_once_ && ends_at_once_};
  task_.result();
  return {.what = Step::What::commit};
}

void Work::done(const Outcome &outcome) {
  passage_.begin();
  Writer to(output_, resp_);
  if (outcome.failure != Failure::none) return write_failure(to, outcome);
  if (failure_ == Failure::none) {
    // Nothing was released: all that was written is there.
    output_.put(answer_.written_since(answer_start_));
    output_.note_errors(answer_.take_errors());
    if (erased_ != nullptr) erased_to_->all = std::move(erased_->all);
    return give_back();
  }
  Outcome how{.failure = failure_, .message = message_};
  if (failure_ == Failure::not_open && failed_table_->failure != Failure::none) {
    if (kind_of(failed_table_->failure) == FailureKind::schema) return to.failure("ERR ", failed_table_->message);
    how = {.failure = failed_table_->failure, .message = failed_table_->message};
  }
  write_failure(to, how);
}

/// The first op of a step: the results of the one before are gone.
void Work::begin_step() {
  if (!stepped_) return;
  stepped_ = false;
  drop_step();
}

/// As if none of its ops had been added.
void Work::forget_step() {
  stepped_ = true;
  drop_step();
}

void Work::drop_step() {
  ops_.clear();
  tables_.clear();
  replies_.clear();
  finds_.clear();
  inserts_.clear();
  edits_.clear();
  few_used_ = 0;
  values_.clear();
  texts_.clear();
}

/// The thread that has run it gives its memory back: the one that destroys it is another, and every allocation that one
/// gives back for another costs both.
void Work::give_back() {
  task_ = {};
  drop_step();
  ops_.shrink_to_fit();
  tables_.shrink_to_fit();
  answer_.release();
  answer_.sent(answer_.sendable().size());
  answer_start_ = answer_.mark();
}

Op &Work::add(Verb verb, OpenTable &table) {
  if (ops_.capacity() == 0) {  // one allocation each for most steps
    ops_.reserve(ops_usual);
    tables_.reserve(ops_usual);
  }
  Op &op = ops_.emplace_back();
  op.verb = verb;
  op.slot = &table.slot;
  op.reply = &replies_.add();
  tables_.push_back(&table);
  return op;
}

StepReply &Work::add_find(Verb verb, OpenTable &table, const Find &find) {
  begin_step();
  add(verb, table).find = &finds_.add(find);
  return replies_.back();
}

StepReply &Work::add_insert(OpenTable &table, std::initializer_list<Value> row, OnDuplicate on_duplicate, Edit *edit) {
  return add_insert(table, values(row), on_duplicate, edit);
}

StepReply &Work::add_insert(OpenTable &table, std::span<const Value> row, OnDuplicate on_duplicate, Edit *edit) {
  begin_step();
  add(Verb::insert, table).insert = &inserts_.add(
      Insert{.values = row, .on_duplicate = on_duplicate, .edit = edit, .reads_old_values = edit != nullptr});
  return replies_.back();
}

StepReply &Work::add_edit(OpenTable &table, const Find &find, Edit &edit, bool erases) {
  begin_step();
  add(Verb::edit, table).edit =
      &edits_.add(EditRows{.find = find, .edit = &edit, .erases = erases, .reads_old_values = true});
  return replies_.back();
}

StepReply &Work::add_erase(OpenTable &table, const Find &find) {
  begin_step();
  add(Verb::edit, table).edit = &edits_.add(EditRows{.find = find, .edit = &erase_edit, .erases = true});
  return replies_.back();
}

StepReply &Work::add_take(OpenTable &table, const Find &find) {
  begin_step();
  add(Verb::edit, table).edit = &edits_.add(
      EditRows{.find = find, .edit = &erase_edit, .rows_wanted = true, .erases = true, .reads_old_values = true});
  return replies_.back();
}

std::span<const Value> Work::values(std::initializer_list<Value> some) {
  const std::span<Value> kept = values(some.size());
  std::copy(some.begin(), some.end(), kept.begin());
  return kept;
}

std::span<Value> Work::values(size_t count) {
  begin_step();
  if (few_values_.size() - few_used_ < count) return values_.add(std::vector<Value>(count));
  const std::span<Value> few(few_values_.data() + few_used_, count);
  few_used_ += count;
  std::fill(few.begin(), few.end(), Value{});
  return few;
}

StepReply &Work::add_op(const Op &op, OpenTable &table) {
  begin_step();
  Op &added = add(op.verb, table);
  StepReply &reply = replies_.back();
  added = op;
  added.reply = &reply;
  return reply;
}

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

/// That of a new key.
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
  edits_.back().same_row = true;
  at_once_ = true;
  co_await go();
  at_once_ = false;
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
    // The key that is there may be another matter.
    forget_step();
    co_return false;
  }
  fill_row(key, entry, row);
  at_once_ = true;
  co_await go();
  at_once_ = false;
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
  // Not by Verb::lock: that would have the whole statement lock the places of elements that are not there.
  add_edit(open_->table, find, keep_edit, true);
  edits_.back().writes_too = true;
  change();
  add_edit(open_->table, find, store, true);
  edits_.back().writes_too = edits_.back().same_row = true;
  at_once_ = true;
  co_await go();
  at_once_ = false;
  if (emptied) note_erased(key.text, ErasedKeys::Why::emptied);
  const bool wrong = entry.live && entry.type != type;
  if (wrong) writer().error(wrong_type);
  co_return !wrong;
}

/// Whether a step may be tried again with a key that it has met: an expired one, which goes. False after answering
/// that it is of another type.
Task<bool> Work::may_be_made(const Entry &entry, Type type) {
  if (entry.live && entry.type != type) {
    writer().error(wrong_type);
    co_return false;
  }
  if (!entry.live) co_await clear(entry);
  co_return true;
}

Next begin_work(Call &call, Work &work) {
  Op &op = call.batch.add();
  op.verb = Verb::script;
  op.reply = &work;
  op.script = &work;
  return Next::go_on;
}

Next begin_reading_work(Call &call, Work &work) {
  if (!call.in_unit) work.set_reads_only();
  return begin_work(call, work);
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
