#include <algorithm>
#include <string>
#include <vector>

#include "redis/collections/collections.h"
#include "redis/registry/handlers.h"
#include "redis/call_tables.h"

namespace postern::redis {
namespace {

class SetAdd final : public CollectionWork {
 public:
  SetAdd(Call &call, OpenMap &open) : CollectionWork(call, open) { set_ends_at_once(); }

 private:
  Task<> run() override {
    const RowKey key = row_key(arguments_[1]);
    Entry entry;
    std::vector<const StepReply *> replies;
    int64_t made = 0;
    const auto add = [&] {
      replies.clear();
      for (const Bytes member : arguments_.subspan(2))
        replies.push_back(
            &add_insert(elements(Elements::sets), {Value::of(key.text), Value::of(member)}, OnDuplicate::ignore));
    };
    const auto count = [&] {
      made = changed_by(replies);
      entry.len += made;
      return made != 0;
    };
    const bool done = co_await add_elements(key, Type::set, entry, Doing(add), Doing(count));
    if (done) writer().integer(made);
  }
};

class SetMove final : public CollectionWork {
 public:
  using CollectionWork::CollectionWork;

 private:
  Task<> run() override {
    const Bytes member = arguments_[3];
    Entry from;
    Entry to;
    co_await lock_both(arguments_[1], from, arguments_[2], to);
    if (is_wrong(from, Type::set) || (from.live && is_wrong(to, Type::set))) co_return;
    int64_t moved = 0;
    if (from.live && from.key == to.key) {
      const StepReply &found = add_lock(elements(Elements::sets), {.key = element_of(from, member), .limit = 1});
      co_await go();
      moved = static_cast<int64_t>(found.rows.size());
    } else if (from.live) {
      const StepReply &erased = add_erase(elements(Elements::sets), {.key = element_of(from, member), .limit = 1});
      co_await go();
      moved = static_cast<int64_t>(erased.changed);
      if (moved != 0) co_await move(from, to);
    }
    writer().integer(moved);
  }

  Task<> move(Entry &from, Entry &to) {
    --from.len;
    co_await store(from);
    if (!to.live) to = co_await make(row_key(arguments_[2]), Type::set);
    const StepReply &inserted =
        add_insert(elements(Elements::sets), element_of(to, arguments_[3]), OnDuplicate::ignore);
    co_await go();
    to.len += static_cast<int64_t>(inserted.changed);
    if (inserted.changed != 0) co_await store(to);
  }
};

// --- reading ---------------------------------------------------------------------------------------------------------

struct MembersTell {
  static constexpr bool counted = true;

  void absent(Writer &writer) const { writer.set(0); }
  uint64_t count(const KeyState &entry) const { return entry.len; }
  void begin(Writer &writer, uint64_t count) const { writer.set(count); }
  void row(Writer &writer, Row row) const { writer.bulk(row[column::member].bytes()); }
  void end(Writer &, uint64_t) const {}
};

struct MemberTell {
  static constexpr bool counted = false;

  void absent(Writer &writer) const { writer.integer(0); }
  void begin(Writer &, uint64_t) const {}
  void row(Writer &writer, Row) const { writer.integer(1); }
  void end(Writer &writer, uint64_t rows) const {
    if (rows == 0) writer.integer(0);
  }
};

struct MemberOfMany {
  static void there(Writer &writer, Row) { writer.integer(1); }
  static void absent(Writer &writer) { writer.integer(0); }
};

}  // namespace

namespace lower {

Next sadd(Call &call) {
  return begin_on<SetAdd>(call, call.arguments[1]);
}

Next srem(Call &call) {
  return begin_on<RemoveMembers>(call, call.arguments[1], Type::set);
}

Next smove(Call &call) {
  OpenMap *open = nullptr;
  if (!may_write_both(call, call.arguments[1], call.arguments[2], open)) return Next::go_on;
  return begin_work(call, tables_of(call).keep<SetMove>(call, *open));
}

Next scard(Call &call) {
  return tell_length_of(call, Type::set);
}

Next smembers(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  const Find find{.key = element_key(call, place), .limit = all_rows};
  return read_collection(call, place, Elements::sets, Type::set, find, MembersTell{});
}

Next sismember(Call &call) {
  return read_member(call, Elements::sets, Type::set, MemberTell{});
}

Next smismember(Call &call) {
  return read_members<MemberOfMany>(call, place_of(call, call.arguments[1]), Elements::sets, Type::set);
}

}  // namespace lower
}  // namespace postern::redis
