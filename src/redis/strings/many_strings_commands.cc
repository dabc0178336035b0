#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/strings/string_edit.h"
#include "redis/strings/string_work.h"

namespace postern::redis {
namespace {

/// MSET and MSETNX: several strings, all or none of them.
class SetManyWork final : public StringWork {
 public:
  struct Pair {
    Place place;
    Bytes value;
  };
  SetManyWork(Call &call, std::vector<Pair> pairs, bool if_absent)
      : StringWork(call, *pairs.front().place.open), pairs_(std::move(pairs)), if_absent_(if_absent) {}

 private:
  Task<> run() override {
    if (if_absent_ && co_await any_there()) {
      writer().integer(0);
      co_return;
    }
    // In one step and in a global order, so that two of them do not deadlock.
    std::deque<SetString> edits;
    for (const Pair &pair : pairs_) {
      use(*pair.place.open);
      Edit *edit = nullptr;
      if (pair.place.generic()) edit = &edits.emplace_back(pair, now_ms());
      add_insert(open().table, row_of(pair.place, pair.value),
                 edit == nullptr ? OnDuplicate::update : OnDuplicate::decide, edit);
    }
    co_await go();
    for (const SetString &edit : edits)
      if (edit.in_the_way) co_await set(edit.pair.place, edit.pair.value);
    if (if_absent_) writer().integer(1);
    else writer().ok();
  }

  /// Locks all keys, existing or not, until the transaction ends.
  Task<bool> any_there() {
    std::vector<const StepReply *> found;
    for (const Pair &pair : pairs_)
      found.push_back(&add_lock(pair.place.open->table, {.key = pair.place.key, .limit = 1}));
    co_await go();
    for (size_t i = 0; i < found.size(); ++i)
      if (!found[i]->rows.empty() && state_of_cells(pairs_[i].place.map(), found[i]->rows.front()).live) co_return true;
    co_return false;
  }

  /// Replaces an existing string.
  struct SetString final : Edit {
    SetString(const Pair &its, int64_t now) : pair(its), now_ms(now) {}
    Decision present(Row row, Draft &draft) override {
      const KeyState now = state_of(pair.place.map(), row, now_ms);
      in_the_way = now.has_elements;
      if (in_the_way) return Decision::keep;
      StringDraft next(draft, pair.place.map(), now);
      next.set(Value::of(pair.value));
      next.expire(0);
      next.count_version();
      return Decision::write;
    }

    const Pair &pair;
    const int64_t now_ms;
    bool in_the_way = false;  ///< the key is a collection; its elements have to be deleted, too
  };

  const std::vector<Pair> pairs_;
  const bool if_absent_;
};

/// Each key once, with the last value that it is given, in the order of the keys.
void put_in_order(std::vector<SetManyWork::Pair> &pairs) {
  const auto name = [](const SetManyWork::Pair &pair) { return pair.place.name; };
  std::ranges::stable_sort(pairs, {}, name);
  const auto again = [&](const SetManyWork::Pair &one) {
    return &one != &pairs.back() && (&one + 1)->place.name == one.place.name;
  };
  std::vector<SetManyWork::Pair> once;
  std::ranges::remove_copy_if(pairs, std::back_inserter(once), again);
  pairs = std::move(once);
}

Next set_many(Call &call, bool if_absent) {
  if (call.arguments.size() % 2 == 0) return refuse_arity(call);
  std::vector<SetManyWork::Pair> pairs;
  for (size_t i = 1; i < call.arguments.size(); i += 2) {
    const Place place = place_of(call, call.arguments[i]);
    if (!may_write_string(call, place)) return Next::go_on;
    if (!place.map().may_create())
      return refuse(call, "ERR a key is of a mapping with no_create, which SET alone writes");
    pairs.push_back({place, call.arguments[i + 1]});
  }
  for (const SetManyWork::Pair &pair : pairs)
    if (pair.place.generic()) open_elements(call, *pair.place.open);
  put_in_order(pairs);
  return begin_work(call, tables_of(call).keep<SetManyWork>(call, std::move(pairs), if_absent));
}

}  // namespace

namespace lower {

Next mset(Call &call) {
  return set_many(call, false);
}

Next msetnx(Call &call) {
  return set_many(call, true);
}

}  // namespace lower
}  // namespace postern::redis
