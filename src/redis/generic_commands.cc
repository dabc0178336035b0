#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "redis/expiry_arguments.h"
#include "redis/handlers.h"
#include "redis/key_edit.h"
#include "redis/session.h"
#include "redis/wire/numbers.h"
#include "redis/work.h"

namespace postern::redis {
namespace {

// --- what there is
// ----------------------------------------------------------------------------------------------------

/// Of several keys: each notes whether it is there, and the last one tells how many are.
class PresenceReply final : public KeyReply {
 public:
  PresenceReply(Call &call, const Place &place) : KeyReply(call, place.open->table), open_(*place.open) {}
  Flow row(Row row) override {
    there_ = state_of(*open_.map, row, now_ms()).live;
    return Flow::more;
  }
  void done(const Outcome &outcome) override {
    failure_ = outcome.failure == Failure::bad_key_value ? Failure::none : outcome.failure;
    if (failure_ != Failure::none && all.empty()) return;
    if (failure_ != Failure::none) return fail(outcome);
    if (all.empty()) return;
    int64_t count = 0;
    for (const PresenceReply *const one : all) {
      if (one->failure_ != Failure::none) return fail({.failure = one->failure_});
      if (one->there_) ++count;
    }
    begin().integer(count);
  }
  void restart() override {
    passage_.take_back();
    there_ = false;
    failure_ = Failure::none;
  }

  std::span<const PresenceReply *const> all{};  ///< of the last one

 private:
  OpenMap &open_;
  bool there_ = false;
  Failure failure_ = Failure::none;
};

Next count_present(Call &call) {
  const auto keys = call.arguments.subspan(1);
  const std::span<const PresenceReply *> replies = call.arena().array<const PresenceReply *>(keys.size());
  size_t count = 0;
  PresenceReply *last = nullptr;
  for (const Bytes key : keys) {
    const Place place = place_of(call, key);
    if (place.state != Place::State::there) continue;
    last = call.arena().make<PresenceReply>(call, place);
    replies[count++] = last;
    add_find(call, place, *last);
  }
  if (last == nullptr) return answer_integer(call, 0);
  last->all = replies.first(count);
  return Next::go_on;
}

Bytes name_of(Type type) {
  switch (type) {
    case Type::none: break;
    case Type::string: return "string";
    case Type::list: return "list";
    case Type::set: return "set";
    case Type::hash: return "hash";
    case Type::zset: return "zset";
  }
  return "none";
}

/// What a string that Redis would keep in so many bytes is kept in.
Bytes encoding_of(const KeyState &state) {
  constexpr size_t embedded_bytes_max = 44;
  char room[20];
  switch (state.type) {
    case Type::string: {
      const Bytes text = text_of(state.value, room);
      int64_t number = 0;
      if (parse_integer(text, number)) return "int";
      return text.size() <= embedded_bytes_max ? "embstr" : "raw";
    }
    case Type::list: return "quicklist";
    case Type::zset: return "skiplist";
    case Type::none:
    case Type::set:
    case Type::hash: break;
  }
  return "hashtable";
}

/// Tells of the key's expiry: `tell(expires_ms, now_ms)`, of one that never expires -1, without a key -2.
template <class Number>
Next tell_expiry(Call &call, Number number) {
  return read_key(call, call.arguments[1], [number, now_ms = call.now_ms](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return writer.integer(-2);
    writer.integer(state->expires_ms == 0 ? -1 : number(state->expires_ms, now_ms));
  });
}

// --- expiry
// -----------------------------------------------------------------------------------------------------------

struct ExpireOptions {
  bool if_none = false;
  bool if_some = false;
  bool if_later = false;
  bool if_sooner = false;

  bool allow(int64_t now_expires_ms, int64_t expires_ms) const {
    if (if_none && now_expires_ms != 0) return false;
    if (if_some && now_expires_ms == 0) return false;
    // A key that never expires does so later than any.
    if (if_later && (now_expires_ms == 0 || expires_ms <= now_expires_ms)) return false;
    return !if_sooner || now_expires_ms == 0 || expires_ms < now_expires_ms;
  }
};

class ExpireEdit final : public KeyEdit {
 public:
  ExpireEdit(Call &call, const Place &place, int64_t expires_ms, const ExpireOptions &options)
      : KeyEdit(call, place, false), expires_ms_(expires_ms), options_(options) {}

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    if (!options_.allow(now.expires_ms, expires_ms_)) return Decision::keep;
    next.expire(expires_ms_);
    return Decision::write;
  }
  void tell(Writer writer, bool done) override { writer.integer(done ? 1 : 0); }

  const int64_t expires_ms_;
  const ExpireOptions options_;
};

class PersistEdit final : public KeyEdit {
 public:
  PersistEdit(Call &call, const Place &place) : KeyEdit(call, place, false) {}

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    if (now.expires_ms == 0) return Decision::keep;
    next.expire(0);
    return Decision::write;
  }
  void tell(Writer writer, bool done) override { writer.integer(done ? 1 : 0); }
};

class DeleteEdit final : public KeyEdit {
 public:
  DeleteEdit(Call &call, const Place &place) : KeyEdit(call, place, true) {}

 private:
  Decision change(const KeyState &, StringDraft &) override { return Decision::erase; }
  void tell(Writer writer, bool done) override { writer.integer(done ? 1 : 0); }
};

/// False: told why not.
bool read_expire_options(Call &call, ExpireOptions &options) {
  for (const Bytes word : call.arguments.subspan(3)) {
    if (is_word(word, "nx")) options.if_none = true;
    else if (is_word(word, "xx")) options.if_some = true;
    else if (is_word(word, "gt")) options.if_later = true;
    else if (is_word(word, "lt")) options.if_sooner = true;
    else {
      refuse(call, "ERR Unsupported option ", word);
      return false;
    }
  }
  const bool compares = options.if_later || options.if_sooner;
  if (options.if_none && (options.if_some || compares)) {
    refuse(call, "ERR NX and XX, GT or LT options at the same time are not compatible");
    return false;
  }
  if (options.if_later && options.if_sooner) {
    refuse(call, "ERR GT and LT options at the same time are not compatible");
    return false;
  }
  return true;
}

/// The place of a key that a command changes: there; else told why not, or that there is nothing to change.
bool may_change(Call &call, const Place &place) {
  if (place.state == Place::State::broken) refuse_place(call, place);
  else if (place.state != Place::State::there) answer_integer(call, 0);
  else if (place.map().read_only()) refuse_read_only(call, place);
  else return true;
  return false;
}

Next expire_key(Call &call, ExpiryUnit unit) {
  int64_t expires_ms = 0;
  ExpireOptions options;
  if (!read_expire_options(call, options)) return Next::go_on;
  if (!read_expiry(call, unit, call.arguments[2], expires_ms, true)) return Next::go_on;
  const Place place = place_of(call, call.arguments[1]);
  if (!may_change(call, place)) return Next::go_on;
  if (!place.map().keeps_expiry()) return refuse_expiry(call, place);
  const bool conditional = options.if_none || options.if_some || options.if_later || options.if_sooner;
  if (expires_ms <= call.now_ms && !conditional) {
    if (!place.map().may_delete()) return refuse_delete(call, place);
    return write_key(call, place, *call.arena().make<DeleteEdit>(call, place));
  }
  // What has passed is a time in the past all the same, and is not "never".
  expires_ms = std::max<int64_t>(expires_ms, 1);
  return write_key(call, place, *call.arena().make<ExpireEdit>(call, place, expires_ms, options));
}

// --- deleting, renaming
// ---------------------------------------------------------------------------------------------------

/// Deletes several keys, wherever they are.
class DeleteWork final : public Work {
 public:
  DeleteWork(Call &call, std::vector<Place> places) : Work(call, *places.front().open), places_(std::move(places)) {}

 private:
  Task<> run() override {
    int64_t count = 0;
    for (const Place &place : places_) {
      use(*place.open);
      if (place.generic()) {
        const Entry entry = co_await lock(place.key[0].bytes());
        if (!entry.live) continue;
        co_await clear(entry);
        ++count;
        continue;
      }
      bool live = false;
      EditBy erase([&](Row row, Draft &) {
        live = state_of(place.map(), row, now_ms()).live;
        return Decision::erase;
      });
      add_edit(place.open->table, {.key = place.key, .limit = 1}, erase, true);
      co_await go();
      if (live) ++count;
    }
    writer().integer(count);
  }

  const std::vector<Place> places_;
};

Next delete_keys(Call &call) {
  std::vector<Place> places;
  for (const Bytes key : call.arguments.subspan(1)) {
    const Place place = place_of(call, key);
    if (place.state == Place::State::broken) return refuse_place(call, place);
    if (place.state != Place::State::there) continue;
    if (!place.map().may_delete()) return refuse_delete(call, place);
    places.push_back(place);
  }
  if (places.empty()) return answer_integer(call, 0);
  for (const Place &place : places)
    if (place.generic()) open_elements(call, *place.open);
  if (places.size() == 1) return write_key(call, places[0], *call.arena().make<DeleteEdit>(call, places[0]));
  return begin_work(call, call.session.tables().keep<DeleteWork>(call, std::move(places)));
}

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
    const Bytes from = from_.key[0].bytes();
    const Bytes to = to_.key[0].bytes();
    // In one order, so that two that rename the same keys do not wait for each other.
    Entry source;
    Entry target;
    if (to < from) target = co_await lock(to);
    source = co_await lock(from);
    if (from < to) target = co_await lock(to);
    if (!source.live) {
      writer().error(no_such_key);
      co_return;
    }
    if (from == to || (target.live && if_absent_)) {
      tell(false);
      co_return;
    }
    if (target.live) co_await clear(target);
    EditBy change([to](Row row, Draft &next) {
      next.set(entry::key, Value::of(to));
      next.set(entry::version, Value::of_natural(static_cast<uint64_t>(integer_in(row[entry::version])) + 1));
      return Decision::write;
    });
    add_edit(open().table, {.key = from_.key, .limit = 1}, change);
    EditBy move([to](Row, Draft &next) {
      next.set(0, Value::of(to));
      return Decision::write;
    });
    if (OpenTable *const table = elements_of(source.type)) add_edit(*table, {.key = from_.key, .limit = all}, move);
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

/// Both keys of a command; false: told why not.
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
  return begin_work(call, call.session.tables().keep<RenameWork>(call, from, to, if_absent));
}

class CopyWork final : public Work {
 public:
  CopyWork(Call &call, const Place &from, const Place &to, bool replaces)
      : Work(call, *from.open), from_(from), to_(to), replaces_(replaces) {}

 private:
  Task<> run() override {
    const Bytes from = from_.key[0].bytes();
    const Bytes to = to_.key[0].bytes();
    Entry target;
    if (to < from) target = co_await lock(to);
    const Entry source = co_await lock(from);
    if (from < to) target = co_await lock(to);
    if (!source.live || (target.live && !replaces_)) {
      writer().integer(0);
      co_return;
    }
    if (target.live) co_await clear(target);
    co_await copy_entry(source, to);
    writer().integer(1);
  }

  Task<> copy_entry(const Entry &source, Bytes to) {
    const bool is_string = source.type == Type::string;
    add_insert(open().table,
               {Value::of(to), Value::of_integer(source.expires_ms), Value::of_natural(fresh_version()),
                Value::of_integer(static_cast<int64_t>(source.type)), Value::of_integer(source.len),
                Value::of_integer(source.head), is_string ? Value::of(source.value) : Value::null()},
               OnDuplicate::fail);
    co_await go();
    OpenTable *const table = elements_of(source.type);
    if (table == nullptr) co_return;
    StepReply &found = add_lock(*table, {.key = from_.key, .limit = all});
    co_await go();
    const std::vector<Cells> rows = std::move(found.rows);
    for (const Cells &cells : rows) {
      const std::span<Value> row = values(cells.size());
      row[0] = Value::of(to);
      for (size_t i = 1; i < row.size(); ++i) row[i] = Value::of(cells[i].text);
      add_insert(*table, row, OnDuplicate::fail);
    }
    co_await go();
  }

  const Place from_;
  const Place to_;
  const bool replaces_;
};

}  // namespace

namespace lower {

Next exists(Call &call) {
  return count_present(call);
}

Next touch(Call &call) {
  return count_present(call);
}

Next type(Call &call) {
  return read_key(call, call.arguments[1], [](Writer &writer, const KeyState *state, Row) {
    writer.status(name_of(state == nullptr ? Type::none : state->type));
  });
}

Next ttl(Call &call) {
  return tell_expiry(call, [](int64_t expires_ms, int64_t now_ms) { return (expires_ms - now_ms + 500) / 1'000; });
}

Next pttl(Call &call) {
  return tell_expiry(call, [](int64_t expires_ms, int64_t now_ms) { return expires_ms - now_ms; });
}

Next expiretime(Call &call) {
  return tell_expiry(call, [](int64_t expires_ms, int64_t) { return (expires_ms + 500) / 1'000; });
}

Next pexpiretime(Call &call) {
  return tell_expiry(call, [](int64_t expires_ms, int64_t) { return expires_ms; });
}

Next expire(Call &call) {
  return expire_key(call, ExpiryUnit::seconds);
}

Next pexpire(Call &call) {
  return expire_key(call, ExpiryUnit::milliseconds);
}

Next expireat(Call &call) {
  return expire_key(call, ExpiryUnit::unix_seconds);
}

Next pexpireat(Call &call) {
  return expire_key(call, ExpiryUnit::unix_milliseconds);
}

Next persist(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_change(call, place)) return Next::go_on;
  if (!place.map().keeps_expiry()) return answer_integer(call, 0);
  return write_key(call, place, *call.arena().make<PersistEdit>(call, place));
}

Next del(Call &call) {
  return delete_keys(call);
}

Next unlink(Call &call) {
  return delete_keys(call);
}

Next rename(Call &call) {
  return rename_key(call, false);
}

Next renamenx(Call &call) {
  return rename_key(call, true);
}

Next copy(Call &call) {
  bool replaces = false;
  for (size_t i = 3; i < call.arguments.size(); ++i) {
    int64_t db = 0;
    if (is_word(call.arguments[i], "replace")) {
      replaces = true;
    } else if (is_word(call.arguments[i], "db") && i + 1 < call.arguments.size()) {
      if (!parse_integer(call.arguments[++i], db)) return refuse(call, not_an_integer);
      if (db != call.session.client().database())
        return refuse(call, "ERR source and destination are in different tables");
    } else {
      return refuse(call, syntax_error);
    }
  }
  if (call.arguments[1] == call.arguments[2]) return refuse(call, "ERR source and destination objects are the same");
  const Place source = place_of(call, call.arguments[1]);
  if (source.state != Place::State::there && source.state != Place::State::broken) return answer_integer(call, 0);
  Place from;
  Place to;
  if (!places_of_both(call, from, to)) return Next::go_on;
  if (!from.generic()) return refuse(call, "ERR rows of a mapped table cannot be copied");
  return begin_work(call, call.session.tables().keep<CopyWork>(call, from, to, replaces));
}

Next object_encoding(Call &call) {
  return read_key(call, call.arguments[2], [](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return writer.nil();
    writer.bulk(encoding_of(*state));
  });
}

Next object_refcount(Call &call) {
  return read_key(call, call.arguments[2], [](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return writer.nil();
    writer.integer(1);
  });
}

Next object_idletime(Call &call) {
  return read_key(call, call.arguments[2], [](Writer &writer, const KeyState *state, Row) {
    state == nullptr ? writer.nil() : writer.integer(0);
  });
}

Next object_freq(Call &call) {
  return read_key(call, call.arguments[2], [](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return writer.nil();
    writer.error(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching "
        "between policies at runtime LRU and LFU data will take some time to adjust.");
  });
}

}  // namespace lower
}  // namespace postern::redis
