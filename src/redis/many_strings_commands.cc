#include <utility>
#include <vector>

#include "redis/handlers.h"
#include "redis/session.h"
#include "redis/string_edit.h"
#include "redis/string_work.h"

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
    for (const Pair &pair : pairs_) {
      if (!if_absent_) break;
      const Held held = co_await hold(pair.place);
      if (!held.there) continue;
      writer().integer(0);
      co_return;
    }
    for (const Pair &pair : pairs_) co_await set(pair.place, pair.value);
    if (if_absent_) writer().integer(1);
    else writer().ok();
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
