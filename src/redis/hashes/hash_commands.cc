#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "redis/hashes/hash_ops.h"
#include "redis/registry/handlers.h"
#include "redis/call_tables.h"

namespace postern::redis {
namespace {

class RowSet final : public RowEdit {
 public:
  RowSet(Call &call, const Place &place, const RowFields &fields, std::span<const Value> values, bool tells_ok)
      : RowEdit(call, place, fields), values_(values), tells_ok_(tells_ok), may_create_(place.map().may_create()) {}

 private:
  Decision change(Row row, Draft &next) override {
    for (size_t i = 0; i < count(); ++i) {
      // The same field may be named twice: the last one wins, and it is new once.
      const bool again = std::any_of(first() + i + 1, last(), [&](uint32_t other) { return other == position(i); });
      if (row[position(i)].is_null() && !again) ++made_;
      next.set(position(i), values_[i]);
    }
    return Decision::write;
  }
  void tell(Writer writer) override {
    if (!found() && !may_create_) return writer.error("ERR no such row");
    if (tells_ok_) return writer.ok();
    writer.integer(found() ? made_ : static_cast<int64_t>(distinct()));
  }
  void forget() override { made_ = 0; }

  size_t distinct() const {
    std::vector<uint32_t> all(first(), last());
    std::sort(all.begin(), all.end());
    return static_cast<size_t>(std::unique(all.begin(), all.end()) - all.begin());
  }

  const std::span<const Value> values_;
  const bool tells_ok_;
  const bool may_create_;
  int64_t made_ = 0;
};

class RowSetIfAbsent final : public RowEdit {
 public:
  RowSetIfAbsent(Call &call, const Place &place, const RowFields &fields, Bytes value)
      : RowEdit(call, place, fields), value_(value) {}

 private:
  Decision change(Row row, Draft &next) override {
    kept_ = !row[position(0)].is_null();
    if (kept_) return Decision::keep;
    next.set(position(0), Value::of(value_));
    return Decision::write;
  }
  void tell(Writer writer) override { writer.integer(kept_ ? 0 : 1); }
  void forget() override { kept_ = false; }

  const Bytes value_;
  bool kept_ = false;
};

class RowDelete final : public RowEdit {
 public:
  using RowEdit::RowEdit;

 private:
  Decision change(Row row, Draft &next) override {
    for (size_t i = 0; i < count(); ++i) {
      const bool named = std::find(first(), first() + i, position(i)) != first() + i;
      if (position(i) == Map::no_column || named || row[position(i)].is_null()) continue;
      next.set(position(i), Value::null());
      ++removed_;
    }
    return removed_ == 0 ? Decision::keep : Decision::write;
  }
  void tell(Writer writer) override { writer.integer(removed_); }
  void forget() override { removed_ = 0; }

  int64_t removed_ = 0;
};

/// HSET, HMSET and HSETNX.
class HashSet final : public HashWork {
 public:
  enum class Answer : uint8_t { made, ok };
  HashSet(Call &call, OpenMap &open, OnDuplicate on_duplicate, Answer answer)
      : HashWork(call, open), on_duplicate_(on_duplicate), answer_(answer) {
    set_ends_at_once();
  }

 private:
  Task<> run() override {
    const RowKey key = row_key(key_);
    Entry entry;
    std::vector<const StepReply *> replies;
    int64_t made = 0;
    const auto add = [&] {
      replies.clear();
      for (size_t i = 2; i + 1 < arguments_.size(); i += 2)
        replies.push_back(&add_insert(
            hashes(), {Value::of(key.text), Value::of(arguments_[i]), Value::of(arguments_[i + 1])}, on_duplicate_));
    };
    const auto count = [&] {
      // Each insert shows whether it made a row: `update` counts 2, and `ignore` 0, for one that was there.
      made = 0;
      for (const StepReply *const reply : replies) made += reply->changed == 1 ? 1 : 0;
      entry.len += made;
      return made != 0 || on_duplicate_ != OnDuplicate::ignore;
    };
    const bool done = co_await add_elements(key, Type::hash, entry, Doing(add), Doing(count));
    if (!done) co_return;
    if (answer_ == Answer::ok) writer().ok();
    else writer().integer(made);
  }

  const OnDuplicate on_duplicate_;
  const Answer answer_;
};

class HashDelete final : public HashWork {
 public:
  HashDelete(Call &call, OpenMap &open) : HashWork(call, open) { set_ends_at_once(); }

 private:
  Task<> run() override {
    const RowKey key = row_key(key_);
    Entry entry;
    std::vector<const StepReply *> replies;
    int64_t removed = 0;
    const auto erase = [&] {
      replies.clear();
      for (const Bytes field : arguments_.subspan(2))
        replies.push_back(&add_erase(hashes(), {.key = values({Value::of(key.text), Value::of(field)}), .limit = 1}));
    };
    const auto count = [&] {
      removed = changed_by(replies);
      entry.len -= removed;
      return removed != 0;
    };
    const bool done = co_await change_elements(key, Type::hash, entry, Doing(erase), Doing(count));
    if (done) writer().integer(removed);
  }
};

Next set_fields(Call &call, bool tells_ok) {
  if (call.arguments.size() % 2 != 0) return refuse_arity(call);
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_hash(call, place)) return Next::go_on;
  if (place.generic()) {
    open_elements(call, *place.open);
    return begin_work(call, tables_of(call).keep<HashSet>(call, *place.open, OnDuplicate::update,
                                                          tells_ok ? HashSet::Answer::ok : HashSet::Answer::made));
  }
  const RowFields fields = fields_of(call, place, 2, 2);
  if (!has_all_fields(call, place, fields, 2, 2)) return Next::go_on;
  const std::span<Value> values = values_of(call, 3, 2);
  return write_row(call, place, fields, *call.arena().make<RowSet>(call, place, fields, values, tells_ok), values);
}

}  // namespace

namespace lower {

Next hset(Call &call) {
  return set_fields(call, false);
}

Next hmset(Call &call) {
  return set_fields(call, true);
}

Next hsetnx(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_hash(call, place)) return Next::go_on;
  if (place.generic()) {
    open_elements(call, *place.open);
    return begin_work(call,
                      tables_of(call).keep<HashSet>(call, *place.open, OnDuplicate::ignore, HashSet::Answer::made));
  }
  const RowFields fields = fields_of(call, place, 2, 2);
  if (!has_all_fields(call, place, fields, 2, 2)) return Next::go_on;
  const Bytes value = call.arguments[3];
  return write_row(call, place, fields, *call.arena().make<RowSetIfAbsent>(call, place, fields, value),
                   values_of(call, 3, 2));
}

Next hdel(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_hash(call, place)) return Next::go_on;
  if (place.generic()) {
    open_elements(call, *place.open);
    return begin_work(call, tables_of(call).keep<HashDelete>(call, *place.open));
  }
  const RowFields fields = fields_of(call, place, 2, 1);
  return write_row(call, place, fields, *call.arena().make<RowDelete>(call, place, fields));
}

}  // namespace lower
}  // namespace postern::redis
