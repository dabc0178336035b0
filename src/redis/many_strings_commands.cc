#include <algorithm>
#include <utility>
#include <vector>

#include "items/cas.h"
#include "redis/handlers.h"
#include "redis/session.h"
#include "redis/string_edit.h"
#include "redis/work.h"

namespace postern::redis {
namespace {

/// MSET and MSETNX: several strings, all or none of them.
class SetManyWork final : public Work {
 public:
  struct Pair {
    Place place;
    Bytes value;
  };
  SetManyWork(Call &call, std::vector<Pair> pairs, bool if_absent)
      : Work(call, *pairs.front().place.open), pairs_(std::move(pairs)), if_absent_(if_absent) {}

 private:
  Task<> run() override {
    for (const Pair &pair : pairs_) {
      if (!if_absent_) break;
      if (!co_await is_there(pair.place)) continue;
      writer().integer(0);
      co_return;
    }
    for (const Pair &pair : pairs_) {
      use(*pair.place.open);
      if (pair.place.generic()) {
        const Entry entry = co_await lock(pair.place.key[0].bytes());
        if (entry.live && entry.type != Type::string) co_await clear(entry);
      }
      add_insert(open().table, row_of(pair), OnDuplicate::update);
      co_await go();
    }
    if (if_absent_) writer().integer(1);
    else writer().ok();
  }

  /// Whether there is such a key, which stays so, or stays away, until the transaction ends.
  Task<bool> is_there(const Place &place) {
    use(*place.open);
    if (place.generic()) {
      const Entry entry = co_await lock(place.key[0].bytes());
      co_return entry.live;
    }
    const StepReply &found = add_lock(open().table, {.key = place.key, .limit = 1});
    co_await go();
    if (found.rows.empty()) co_return false;
    const Cells &cells = found.rows.front();
    co_return state_of_cells(place.map(), cells).live && !cells[place.map().first_field()].null;
  }

  std::span<const Value> row_of(const Pair &pair) {
    const Map &map = pair.place.map();
    const std::span<Value> row = values(map.generic() ? entry::columns : map.first_field() + 1);
    std::copy(pair.place.key.begin(), pair.place.key.end(), row.begin());
    if (map.keeps_expiry()) row[map.expiry_column()] = Value::of_integer(0);
    if (map.keeps_version()) row[map.version_column()] = Value::of_natural(items::next_cas());
    if (!map.generic()) {
      row[map.first_field()] = Value::of(pair.value);
      return row;
    }
    row[entry::type] = Value::of_integer(static_cast<int64_t>(Type::string));
    row[entry::len] = Value::of_integer(0);
    row[entry::head] = Value::of_integer(0);
    row[entry::value] = Value::of(pair.value);
    return row;
  }

  const std::vector<Pair> pairs_;
  const bool if_absent_;
};

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
  return begin_work(call, call.session.tables().keep<SetManyWork>(call, std::move(pairs), if_absent));
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
