#include <string>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/sets/sorted_set_range.h"

namespace postern::redis {
namespace {

using By = SortedSetRange::By;

class ReadRange final : public RangeWork {
 public:
  using RangeWork::RangeWork;

 private:
  Task<> run() override {
    const Entry entry = co_await look(row_key(arguments_[1]));
    if (is_wrong(entry, Type::zset)) co_return;
    std::vector<Cells> rows;
    co_await read_range(entry, false, rows);
    const bool with_scores = range().with_scores;
    Writer to = writer();
    to.array(with_scores && !to.three() ? 2 * rows.size() : rows.size());
    for (const Cells &row : rows) {
      if (with_scores && to.three()) to.array(2);
      to.bulk(row[column::member].text);
      if (with_scores) to.number(score_in(Bytes(row[column::score].text)));
    }
  }
};

/// ZRANGESTORE.
class StoreRange final : public RangeWork {
 public:
  using RangeWork::RangeWork;

 private:
  Task<> run() override {
    Entry target;
    Entry source;
    co_await lock_both(arguments_[1], target, arguments_[2], source);
    if (is_wrong(source, Type::zset)) co_return;
    std::vector<Cells> rows;
    co_await read_range(source, true, rows);
    if (target.live) co_await clear(target);
    if (!rows.empty()) {
      target = co_await make(row_key(arguments_[1]), Type::zset);
      for (const Cells &row : rows)
        add_insert(elements(Elements::zsets),
                   {Value::of(target.key), Value::of(row[column::member].text), Value::of(row[column::score].text)},
                   OnDuplicate::update);
      co_await go();
      target.len = static_cast<int64_t>(rows.size());
      co_await store(target);
    }
    writer().integer(static_cast<int64_t>(rows.size()));
  }
};

/// ZREMRANGEBYSCORE and variants.
class RemoveRange final : public RangeWork {
 public:
  using RangeWork::RangeWork;

 private:
  Task<> run() override {
    Entry entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong(entry, Type::zset)) co_return;
    int64_t removed = 0;
    if (entry.live && !range().is_nothing()) {
      const RangeEnds ends(Value::of(entry.key), range());
      Find find = ends.find();
      if (range().by == By::rank) {
        const Places::Stretch stretch = range().places.in(static_cast<uint64_t>(entry.len));
        find.offset = stretch.offset;
        find.limit = stretch.count;
      }
      if (find.limit != 0) {
        const StepReply &erased = add_erase(elements(index_of(range().by)), find);
        co_await go();
        removed = static_cast<int64_t>(erased.changed);
      }
      entry.len -= removed;
      if (removed != 0) co_await store(entry);
    }
    writer().integer(removed);
  }
};

struct CountTell {
  static constexpr bool counted = false;

  void absent(Writer &writer) const { writer.integer(0); }
  void begin(Writer &, uint64_t) const {}
  void row(Writer &, Row) const {}
  void end(Writer &writer, uint64_t rows) const { writer.integer(static_cast<int64_t>(rows)); }
};

Next read_range_of(Call &call, const SortedSetRange &range) {
  const Place place = place_of(call, call.arguments[1]);
  if (range.is_nothing()) return tell_nothing(call, Type::zset);
  if (range.by == By::rank && range.places.known()) {
    const auto key_value = element_key(call, place);
    const Find find{.comparison = range.reverse ? Comparison::at_most : Comparison::at_least,
                    .key = key_value,
                    .limit = range.places.limit(),
                    .offset = static_cast<uint64_t>(range.places.first),
                    .until = key_value};
    return read_collection(call, place, Elements::zsets_by_score, Type::zset, find,
                           RangeTell{range.places, column::member, range.with_scores});
  }
  return begin_reading<ReadRange>(
      call, place, [](Writer &writer) { writer.array(0); }, range);
}

/// A command with the kind of its range in its name.
Next read_named_range(Call &call, By by, bool reverse) {
  SortedSetRange range{.by = by, .reverse = reverse};
  if (!read_range_options(call, 4, {.with_scores = true}, range)) return Next::go_on;
  if (!read_range_ends(call, call.arguments[2], call.arguments[3], range)) return Next::go_on;
  return read_range_of(call, range);
}

Next count_range(Call &call, By by) {
  SortedSetRange range{.by = by};
  if (!read_range_ends(call, call.arguments[2], call.arguments[3], range)) return Next::go_on;
  const Place place = place_of(call, call.arguments[1]);
  if (range.is_nothing())
    return read_place(call, place, [](Writer &writer, const KeyState *state, Row) {
      state == nullptr || state->type == Type::zset ? writer.integer(0) : writer.error(wrong_type);
    });
  const Find find = tables_of(call).keep<RangeEnds>(element_key(call, place)[0], range).find();
  return read_collection(call, place, index_of(by), Type::zset, find, CountTell{});
}

Next remove_range(Call &call, By by) {
  SortedSetRange range{.by = by};
  if (!read_range_ends(call, call.arguments[2], call.arguments[3], range)) return Next::go_on;
  return begin_on<RemoveRange>(call, call.arguments[1], range);
}

}  // namespace

namespace lower {

Next zrange(Call &call) {
  SortedSetRange range;
  if (!read_range_options(call, 4, {.by = true, .reverse = true, .with_scores = true}, range)) return Next::go_on;
  if (!read_range_ends(call, call.arguments[2], call.arguments[3], range)) return Next::go_on;
  return read_range_of(call, range);
}

Next zrangestore(Call &call) {
  SortedSetRange range;
  if (!read_range_options(call, 5, {.by = true, .reverse = true}, range)) return Next::go_on;
  if (!read_range_ends(call, call.arguments[3], call.arguments[4], range)) return Next::go_on;
  OpenMap *open = nullptr;
  if (!may_write_both(call, call.arguments[1], call.arguments[2], open)) return Next::go_on;
  note_fed(call, call.arguments[1]);
  return begin_work(call, tables_of(call).keep<StoreRange>(call, *open, range));
}

Next zrangebyscore(Call &call) {
  return read_named_range(call, By::score, false);
}

Next zrangebylex(Call &call) {
  return read_named_range(call, By::member, false);
}

Next zrevrange(Call &call) {
  return read_named_range(call, By::rank, true);
}

Next zrevrangebyscore(Call &call) {
  return read_named_range(call, By::score, true);
}

Next zrevrangebylex(Call &call) {
  return read_named_range(call, By::member, true);
}

Next zcount(Call &call) {
  return count_range(call, By::score);
}

Next zlexcount(Call &call) {
  return count_range(call, By::member);
}

Next zremrangebyrank(Call &call) {
  return remove_range(call, By::rank);
}

Next zremrangebyscore(Call &call) {
  return remove_range(call, By::score);
}

Next zremrangebylex(Call &call) {
  return remove_range(call, By::member);
}

}  // namespace lower
}  // namespace postern::redis
