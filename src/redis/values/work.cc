#include "redis/values/work.h"

#include <utility>

#include "base/limits.h"
#include "items/cas.h"
#include "items/expiry.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

/// Deletes whatever it is shown.
class EraseEdit final : public Edit {
 public:
  Decision present(Row, Draft &) override { return Decision::erase; }
};
EraseEdit erase_edit;

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

Script::Step Work::begin() {
  failure_ = Failure::none;
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
      if (reply.failure == Failure::none || bears(reply.failure)) continue;
      failed(reply);
      failure_ = reply.failure;
      message_ = std::move(reply.message);
      failed_table_ = tables_[i];
      return {.what = Step::What::undo};
    }
  }
  waiting_.resume();
  if (!task_.handle().done()) return {.what = Step::What::run, .ops = ops_};
  task_.result();
  return {.what = Step::What::commit};
}

void Work::done(const Outcome &outcome) {
  passage_.begin();
  Writer to(output_, resp_);
  if (outcome.failure != Failure::none) return write_failure(to, outcome);
  if (failure_ == Failure::none) {
    // Nothing was released: all that was written is there.
    output_.put(answer_.written_since(0));
    output_.note_errors(answer_.take_errors());
    return;
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
  ops_.clear();
  tables_.clear();
  replies_.clear();
  finds_.clear();
  inserts_.clear();
  edits_.clear();
  values_.clear();
  texts_.clear();
}

Op &Work::add(Verb verb, OpenTable &table) {
  Op &op = ops_.emplace_back();
  op.verb = verb;
  op.slot = &table.slot;
  op.reply = &replies_.emplace_back();
  tables_.push_back(&table);
  return op;
}

StepReply &Work::add_find(Verb verb, OpenTable &table, const Find &find) {
  begin_step();
  add(verb, table).find = &finds_.emplace_back(find);
  return replies_.back();
}

StepReply &Work::add_insert(OpenTable &table, std::initializer_list<Value> row, OnDuplicate on_duplicate, Edit *edit) {
  return add_insert(table, values(row), on_duplicate, edit);
}

StepReply &Work::add_insert(OpenTable &table, std::span<const Value> row, OnDuplicate on_duplicate, Edit *edit) {
  begin_step();
  add(Verb::insert, table).insert = &inserts_.emplace_back(
      Insert{.values = row, .on_duplicate = on_duplicate, .edit = edit, .reads_old_values = edit != nullptr});
  return replies_.back();
}

StepReply &Work::add_edit(OpenTable &table, const Find &find, Edit &edit, bool erases) {
  begin_step();
  add(Verb::edit, table).edit =
      &edits_.emplace_back(EditRows{.find = find, .edit = &edit, .erases = erases, .reads_old_values = true});
  return replies_.back();
}

StepReply &Work::add_erase(OpenTable &table, const Find &find) {
  begin_step();
  add(Verb::edit, table).edit = &edits_.emplace_back(EditRows{.find = find, .edit = &erase_edit, .erases = true});
  return replies_.back();
}

StepReply &Work::add_take(OpenTable &table, const Find &find) {
  begin_step();
  add(Verb::edit, table).edit = &edits_.emplace_back(
      EditRows{.find = find, .edit = &erase_edit, .rows_wanted = true, .erases = true, .reads_old_values = true});
  return replies_.back();
}

std::span<const Value> Work::values(std::initializer_list<Value> some) {
  begin_step();
  return values_.emplace_back(some);
}

std::span<Value> Work::values(size_t count) {
  begin_step();
  return values_.emplace_back(count);
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

Task<> Work::store(const Entry &entry) {
  if (entry.len == 0 && entry.type != Type::string) {
    add_erase(open_->table, {.key = values({Value::of(entry.key)}), .limit = 1});
    co_await go();
    co_return;
  }
  EditBy change([&entry](Row row, Draft &next) {
    next.set(entry::len, Value::of_integer(entry.len));
    next.set(entry::head, Value::of_integer(entry.head));
    next.set(entry::expires, Value::of_integer(entry.expires_ms));
    next.set(entry::version, Value::of_natural(static_cast<uint64_t>(integer_in(row[entry::version])) + 1));
    return Decision::write;
  });
  add_edit(open_->table, {.key = values({Value::of(entry.key)}), .limit = 1}, change);
  co_await go();
}

Task<> Work::clear(const Entry &entry) {
  for (OpenTable *const table : tables_of(entry.type))
    add_erase(*table, {.key = values({Value::of(entry.key)}), .limit = all});
  co_await go();
  add_erase(open_->table, {.key = values({Value::of(entry.key)}), .limit = 1});
  co_await go();
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
