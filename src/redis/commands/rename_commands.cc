#include <cstdint>
#include <utility>
#include <vector>

#include "redis/call_tables.h"
#include "redis/registry/handlers.h"
#include "redis/wire/numbers.h"
#include "redis/work/work.h"

namespace postern::redis {
namespace {

/// RENAME and RENAMENX.
class RenameWork final : public Work {
 public:
  RenameWork(Call &call, const Place &from, const Place &to, bool if_absent)
      : Work(call, *from.open), from_(from), to_(to), if_absent_(if_absent) {}

 private:
  Task<> run() override { return from_.generic() ? rename_key() : rename_row(); }

  void tell(bool done) {
    if (if_absent_) writer().integer(done ? 1 : 0);
    else writer().ok();
  }

  Task<> rename_key() {
    const Bytes from = from_.name;
    const Bytes to = to_.name;
    // In a global order, so that two renames of the same keys do not deadlock.
    Entry source;
    Entry target;
    if (to < from) target = co_await lock(row_key(to));
    source = co_await lock(row_key(from));
    if (from < to) target = co_await lock(row_key(to));
    if (!source.live) {
      writer().error(no_such_key);
      co_return;
    }
    if (from == to || (target.live && if_absent_)) {
      tell(false);
      co_return;
    }
    if (target.live) co_await clear(target);
    EditBy change([this](Row row, Draft &next) {
      next.set(entry::key, to_.key[0]);
      next.set(entry::version, Value::of_natural(static_cast<uint64_t>(integer_in(row[entry::version])) + 1));
      return Decision::write;
    });
    add_edit(open().table, {.key = from_.key, .limit = 1}, change);
    EditBy move([this](Row, Draft &next) {
      next.set(0, to_.key[0]);
      return Decision::write;
    });
    for (OpenTable *const table : tables_of(source.type)) add_edit(*table, {.key = from_.key, .limit = all}, move);
    co_await go();
    tell(true);
  }

  Task<> rename_row() {
    const Map &map = from_.map();
    const auto is_live = [this, &map](const StepReply &found) {
      return !found.rows.empty() && state_of_cells(map, found.rows[0]).live;
    };
    const StepReply &source = add_lock(open().table, {.key = from_.key, .limit = 1});
    const StepReply &target = add_lock(open().table, {.key = to_.key, .limit = 1});
    co_await go();
    const bool target_live = is_live(target);
    const bool same = !target.rows.empty() && !source.rows.empty() && same_key(source.rows[0], target.rows[0]);
    if (!is_live(source)) {
      writer().error(no_such_key);
      co_return;
    }
    if (same || (target_live && if_absent_)) {
      tell(false);
      co_return;
    }
    add_erase(open().table, {.key = to_.key, .limit = 1});
    EditBy change([this](Row, Draft &next) {
      for (uint32_t i = 0; i < to_.key.size(); ++i) next.set(i, to_.key[i]);
      return Decision::write;
    });
    add_edit(open().table, {.key = from_.key, .limit = 1}, change);
    co_await go();
    tell(true);
  }

  bool same_key(const Cells &left, const Cells &right) const {
    for (size_t i = 0; i < from_.key.size(); ++i)
      if (left[i].text != right[i].text) return false;
    return true;
  }

  const Place from_;
  const Place to_;
  const bool if_absent_;
};

/// Both keys of a command. Returns false after answering an error.
bool places_of_both(Call &call, Place &from, Place &to) {
  from = place_of(call, call.arguments[1]);
  to = place_of(call, call.arguments[2]);
  if (from.state == Place::State::broken) refuse_place(call, from);
  else if (from.state != Place::State::there) refuse(call, no_such_key);
  else if (to.state != Place::State::there) refuse_place(call, to);
  else if (from.open != to.open) refuse(call, "ERR source and destination are in different tables");
  else if (from.map().read_only()) refuse_read_only(call, from);
  else {
    if (from.generic()) open_elements(call, *from.open);
    return true;
  }
  return false;
}

Next rename_key(Call &call, bool if_absent) {
  Place from;
  Place to;
  if (!places_of_both(call, from, to)) return Next::go_on;
  note_fed(call, call.arguments[2]);
  return begin_work(call, tables_of(call).keep<RenameWork>(call, from, to, if_absent));
}

class CopyWork final : public Work {
 public:
  CopyWork(Call &call, const Place &from, const Place &to, bool replaces)
      : Work(call, *from.open), from_(from), to_(to), replaces_(replaces) {}

 private:
  Task<> run() override {
    const Bytes from = from_.name;
    const Bytes to = to_.name;
    Entry target;
    if (to < from) target = co_await lock(row_key(to));
    const Entry source = co_await lock(row_key(from));
    if (from < to) target = co_await lock(row_key(to));
    if (!source.live || (target.live && !replaces_)) {
      writer().integer(0);
      co_return;
    }
    if (target.live) co_await clear(target);
    co_await copy_entry(source);
    writer().integer(1);
  }

  Task<> copy_entry(const Entry &source) {
    const bool has_value = source.type == Type::string || source.type == Type::stream;
    add_insert(open().table,
               {to_.key[0], Value::of_integer(source.expires_ms), Value::of_natural(fresh_version()),
                Value::of_integer(static_cast<int64_t>(source.type)), Value::of_integer(source.len),
                Value::of_integer(source.head), has_value ? Value::of(source.value) : Value::null()},
               OnDuplicate::fail);
    co_await go();
    for (OpenTable *const table : tables_of(source.type)) co_await copy_rows(*table);
  }

  Task<> copy_rows(OpenTable &table) {
    StepReply &found = add_lock(table, {.key = from_.key, .limit = all});
    co_await go();
    const std::vector<Cells> rows = std::move(found.rows);
    for (const Cells &cells : rows) {
      const std::span<Value> row = values(cells.size());
      row[0] = to_.key[0];
      for (size_t i = 1; i < row.size(); ++i) row[i] = Value::of(cells[i].text);
      add_insert(table, row, OnDuplicate::fail);
    }
    co_await go();
  }

  const Place from_;
  const Place to_;
  const bool replaces_;
};

}  // namespace

namespace lower {

Next rename(Call &call) {
  return rename_key(call, false);
}

Next renamenx(Call &call) {
  return rename_key(call, true);
}

Next copy(Call &call) {
  bool replaces = false;
  int64_t db = database_of(call);
  for (size_t i = 3; i < call.arguments.size(); ++i) {
    if (is_word(call.arguments[i], "replace")) {
      replaces = true;
    } else if (is_word(call.arguments[i], "db") && i + 1 < call.arguments.size()) {
      if (!read_database(call, call.arguments[++i], db)) return Next::go_on;
    } else {
      return refuse(call, syntax_error);
    }
  }
  if (db != database_of(call)) return refuse(call, "ERR source and destination are in different tables");
  if (call.arguments[1] == call.arguments[2]) return refuse(call, "ERR source and destination objects are the same");
  const Place source = place_of(call, call.arguments[1]);
  if (source.state != Place::State::there && source.state != Place::State::broken) return answer_integer(call, 0);
  Place from;
  Place to;
  if (!places_of_both(call, from, to)) return Next::go_on;
  if (!from.generic()) return refuse(call, "ERR rows of a mapped table cannot be copied");
  note_fed(call, call.arguments[2]);
  return begin_work(call, tables_of(call).keep<CopyWork>(call, from, to, replaces));
}

}  // namespace lower
}  // namespace postern::redis
