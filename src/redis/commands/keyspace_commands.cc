#include <algorithm>
#include <string>
#include <vector>

#include "redis/call_tables.h"
#include "redis/collections/chance.h"
#include "redis/registry/handlers.h"
#include "redis/work/key_filter.h"
#include "redis/work/work.h"

namespace postern::redis {
namespace {

Work::Setting of_many_rows(Call &call, OpenMap &open) {
  return {call.output, call.resp, call.now_ms, open, false};
}

/// Walks the keys of a database, some rows at a time.
class KeysWork : public Work {
 public:
  KeysWork(Call &call, const KeyFilter &filter, std::vector<OpenMap *> maps, std::vector<OpenTable *> tables)
      : Work(of_many_rows(call, *maps.front())),
        filter_(filter),
        pattern_(filter.pattern),
        maps_(std::move(maps)),
        tables_(std::move(tables)) {
    filter_.pattern = pattern_;
  }

 protected:
  static constexpr uint64_t rows_at_a_time = 10'000;
  bool bears(Failure failure) const override { return is_passed_over(failure); }

  /// Calls `take(key)` for each.
  template <class Take>
  Task<> each(Take take) {
    for (size_t i = 0; i < maps_.size(); ++i) {
      const Map &map = *maps_[i]->map;
      filter_.map_number = snapshot_number(map);
      std::vector<std::string> last;
      for (bool more = true; more;) {
        const std::span<Value> from = values(last.size());
        for (size_t at = 0; at < from.size(); ++at) from[at] = Value::of(last[at]);
        Find find{.comparison = last.empty() ? Comparison::at_least : Comparison::greater, .key = from};
        find.limit = rows_at_a_time;
        StepReply &found = add_find(*tables_[i], find);
        co_await go();
        if (found.failure != Failure::none) break;
        more = found.rows.size() == rows_at_a_time;
        for (const Cells &cells : found.rows) {
          std::string key;
          if (filter_.takes(map, row_of(cells), key)) take(std::move(key));
        }
        if (!more) break;
        last.clear();
        for (uint32_t at = 0; at < map.key_columns(); ++at) last.push_back(found.rows.back()[at].text);
      }
    }
  }

 private:
  uint32_t snapshot_number(const Map &map) const {
    const auto maps = filter_.snapshot->maps();
    const auto at = std::find_if(maps.begin(), maps.end(), [&](const auto &one) { return one.get() == &map; });
    return static_cast<uint32_t>(at - maps.begin());
  }
  Row row_of(const Cells &cells) {
    row_.clear();
    for (const Cell &cell : cells) row_.push_back(cell.null ? Value::null() : Value::of(cell.text));
    return row_;
  }

  KeyFilter filter_;
  const std::string pattern_;
  const std::vector<OpenMap *> maps_;
  const std::vector<OpenTable *> tables_;
  std::vector<Value> row_;
};

class ListKeysWork final : public KeysWork {
 public:
  using KeysWork::KeysWork;

 private:
  Task<> run() override {
    std::vector<std::string> keys;
    co_await each([&](std::string key) { keys.push_back(std::move(key)); });
    Writer to = writer();
    to.array(keys.size());
    for (const std::string &key : keys) to.bulk(key);
  }
};

class CountKeysWork final : public KeysWork {
 public:
  using KeysWork::KeysWork;

 private:
  Task<> run() override {
    int64_t count = 0;
    co_await each([&](const std::string &) { ++count; });
    writer().integer(count);
  }
};

class RandomKeyWork final : public KeysWork {
 public:
  using KeysWork::KeysWork;

 private:
  Task<> run() override {
    // Each key so far is chosen with the same probability.
    uint64_t seen = 0;
    std::string chosen;
    co_await each([&](std::string key) {
      if (random_below(++seen) == 0) chosen = std::move(key);
    });
    if (seen == 0) writer().nil();
    else writer().bulk(chosen);
  }
};

/// Deletes all keys of generic keyspaces, and rows of mapped tables that may be.
class FlushWork final : public Work {
 public:
  FlushWork(Call &call, std::vector<OpenMap *> maps)
      : Work(of_many_rows(call, *maps.front())), maps_(std::move(maps)) {}

 private:
  Task<> run() override {
    const Find everything{.comparison = Comparison::at_least, .limit = all};
    for (OpenMap *const map : maps_) {
      use(*map);
      add_erase(open().table, everything);
      if (map->map->generic())
        for (const Type type : {Type::hash, Type::set, Type::zset, Type::list, Type::stream})
          if (type != Type::stream || open().has_streams())
            for (OpenTable *const table : tables_of(type)) add_erase(*table, everything);
      co_await go();
    }
    writer().ok();
  }

  const std::vector<OpenMap *> maps_;
};

template <class TheWork, class WithNone>
Next walk_keys(Call &call, Bytes pattern, WithNone with_none) {
  KeyFilter filter = filter_of(call, pattern);
  if (filter.snapshot == nullptr) return with_none();
  std::vector<OpenMap *> maps;
  std::vector<OpenTable *> tables;
  for (uint32_t number = filter.next_map(0); number != MapSnapshot::none; number = filter.next_map(number + 1)) {
    maps.push_back(&tables_of(call).open().open(number, call.batch));
    tables.push_back(&open_keys(call, *maps.back()));
  }
  if (maps.empty()) return with_none();
  return begin_reading_work(call, tables_of(call).keep<TheWork>(call, filter, std::move(maps), std::move(tables)));
}

Next flush(Call &call, uint32_t first_db, uint32_t last_db) {
  if (call.arguments.size() > 2 ||
      (call.arguments.size() == 2 && !is_word(call.arguments[1], "async") && !is_word(call.arguments[1], "sync")))
    return refuse(call, syntax_error);
  OpenMaps &open = tables_of(call).open();
  std::vector<OpenMap *> maps;
  for (uint32_t db = first_db; open.snapshot() != nullptr && db <= last_db; ++db) {
    const auto [first, end] = open.snapshot()->of_database(db);
    for (uint32_t number = first; number < end; ++number) {
      const Map &map = *open.snapshot()->maps()[number];
      if (!map.may_flush() || !map.may_delete() || !map.problem().empty()) continue;
      maps.push_back(&open.open(number, call.batch));
      if (map.generic()) open_elements(call, *maps.back());
    }
  }
  if (maps.empty()) return answer_ok(call);
  return begin_work(call, tables_of(call).keep<FlushWork>(call, std::move(maps)));
}

}  // namespace

namespace lower {

Next keys(Call &call) {
  return walk_keys<ListKeysWork>(call, call.arguments[1], [&] {
    answer(call, [](Writer &writer) { writer.array(0); });
    return Next::go_on;
  });
}

Next dbsize(Call &call) {
  return walk_keys<CountKeysWork>(call, "*", [&] { return answer_integer(call, 0); });
}

Next randomkey(Call &call) {
  return walk_keys<RandomKeyWork>(call, "*", [&] {
    answer(call, [](Writer &writer) { writer.nil(); });
    return Next::go_on;
  });
}

Next flushdb(Call &call) {
  return flush(call, database_of(call), database_of(call));
}

Next flushall(Call &call) {
  return flush(call, 0, MapSnapshot::databases - 1);
}

}  // namespace lower
}  // namespace postern::redis
