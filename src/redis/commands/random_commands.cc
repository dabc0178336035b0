#include "redis/collections/chance.h"
#include "redis/collections/random_elements.h"
#include "redis/errors.h"
#include "redis/hashes/row_hash.h"
#include "redis/registry/handlers.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

class SetPop final : public RandomWork {
 public:
  SetPop(Call &call, OpenMap &open, bool one, uint64_t count) : RandomWork(call, open), one_(one), count_(count) {}

 private:
  Task<> run() override {
    Entry entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong(entry, Type::set)) co_return;
    std::vector<Cells> rows;
    Writer to = writer();
    if (!may_choose(entry, count_)) co_return write_failure(to, {.failure = Failure::reply_too_large});
    if (entry.live) {
      OpenTable &sets = elements(Elements::sets);
      if (are_few(entry, count_)) co_await draw(sets, entry, count_, true, column::member + 1, rows);
      else co_await read_at(sets, entry, distinct_places(count_of(entry), count_), column::member + 1, rows);
      co_await drop(entry, rows);
    }
    if (one_) {
      rows.empty() ? to.nil() : to.bulk(rows[0][column::member].text);
      co_return;
    }
    to.set(rows.size());
    for (const Cells &row : rows) to.bulk(row[column::member].text);
  }

  static uint64_t count_of(const Entry &entry) { return static_cast<uint64_t>(entry.len); }

  Task<> drop(Entry &entry, const std::vector<Cells> &rows) {
    if (rows.empty()) co_return;
    entry.len -= static_cast<int64_t>(rows.size());
    if (entry.len <= 0) {
      co_await clear(entry);
      co_return;
    }
    for (const Cells &row : rows)
      add_erase(elements(Elements::sets), {.key = element_of(entry, row[column::member].text), .limit = 1});
    StoreEdit edit(entry);
    add_store(entry, edit);
    co_await go();
  }

  const bool one_;
  const uint64_t count_;
};

Next random_elements(Call &call, const Place &place, Type type, const RandomChoice &choice) {
  return begin_reading<RandomElements>(
      call, place, [choice](Writer &writer) { choice.tell_absent(writer); }, type, choice);
}

/// A row's fields that are not NULL.
Next random_fields_of_row(Call &call, const Place &place, const RandomChoice &choice) {
  return read_place(call, place, [choice, map = place.open->map.get()](Writer &writer, const KeyState *state, Row row) {
    if (state == nullptr) return choice.tell_absent(writer);
    const std::vector<Cells> rows = elements_of_row(*map, row);
    std::vector<const Cells *> chosen;
    for (const uint64_t at : choice.places(rows.size())) chosen.push_back(&rows[at]);
    choice.tell(writer, Type::hash, chosen);
  });
}

}  // namespace

namespace lower {

Next hrandfield(Call &call) {
  RandomChoice choice;
  if (!read_random_choice(call, "withvalues", choice)) return Next::go_on;
  const Place place = place_of(call, call.arguments[1]);
  if (place.state == Place::State::there && place.map().kind() == Map::Kind::row)
    return random_fields_of_row(call, place, choice);
  return random_elements(call, place, Type::hash, choice);
}

Next spop(Call &call) {
  int64_t count = 1;
  if (call.arguments.size() > 3) return refuse(call, syntax_error);
  const bool one = call.arguments.size() == 2;
  if (!one && (!parse_integer(call.arguments[2], count) || count < 0)) return refuse(call, not_positive);
  return begin_on<SetPop>(call, call.arguments[1], one, static_cast<uint64_t>(count));
}

Next srandmember(Call &call) {
  RandomChoice choice;
  if (!read_random_choice(call, {}, choice)) return Next::go_on;
  return random_elements(call, place_of(call, call.arguments[1]), Type::set, choice);
}

Next zrandmember(Call &call) {
  RandomChoice choice;
  if (!read_random_choice(call, "withscores", choice)) return Next::go_on;
  return random_elements(call, place_of(call, call.arguments[1]), Type::zset, choice);
}

}  // namespace lower
}  // namespace postern::redis
