#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "redis/element_reads.h"
#include "redis/handlers.h"
#include "redis/scan_cursors.h"
#include "redis/wire/glob.h"
#include "redis/wire/numbers.h"
#include "redis/work.h"

namespace postern::redis {
namespace {

constexpr uint64_t scan_count_max = 10'000;

/// The rows of a mapping without their values.
OpenTable &open_keys(Call &call, OpenMap &open) {
  static constexpr uint32_t type_field[] = {0};
  const std::span<const uint32_t> fields = open.map->generic() ? std::span(type_field) : std::span<const uint32_t>{};
  OpenTable *const table = call.session.tables().open().open(open, fields, call.batch);
  return table != nullptr ? *table : open.table;
}

/// The key of a row of open_keys(), as a client has it.
void put_key(const Map &map, Row row, std::string &key) {
  key = map.prefix();
  for (uint32_t i = 0; i < map.key_columns(); ++i) {
    char room[20];
    if (i != 0) key += map.row().separator;
    key += text_of(row[i], room);
  }
}

/// Of a row of open_keys().
Type type_in(const Map &map, Row row) {
  switch (map.kind()) {
    case Map::Kind::row: return Type::hash;
    case Map::Kind::value: return Type::string;
    case Map::Kind::generic: break;
  }
  const int64_t type = integer_in(row[map.first_field()]);
  return type > 0 && type <= static_cast<int64_t>(Type::zset) ? static_cast<Type>(type) : Type::none;
}

/// Which keys are told.
struct KeyFilter {
  Bytes pattern = "*";
  Type type = Type::none;  ///< none: any
  bool no_type = false;    ///< one that no key has
  int64_t now_ms = 0;
  uint32_t db = 0;
  const MapSnapshot *snapshot = nullptr;
  uint32_t map_number = 0;

  /// `key` becomes the row's. A key with a longer prefix of another mapping is not in this one.
  bool takes(const Map &map, Row row, std::string &key) const {
    const int64_t expires_ms = map.expires_ms(row);
    if (expires_ms != 0 && expires_ms <= now_ms) return false;
    const Type its = type_in(map, row);
    if (no_type || its == Type::none || (type != Type::none && type != its)) return false;
    put_key(map, row, key);
    return (pattern == "*" || glob_matches(pattern, key)) && snapshot->find(db, key) == map_number;
  }
  /// Whether keys of the mapping can be of the pattern at all.
  bool may_take(const Map &map) const {
    const Bytes beginning = glob_prefix(pattern);
    const size_t both = std::min(beginning.size(), map.prefix().size());
    return map.may_scan() && map.problem().empty() && beginning.substr(0, both) == map.prefix().substr(0, both);
  }
};

/// Where keys of the pattern begin in the table of a generic keyspace; empty: anywhere.
Bytes beginning_in(const Map &map, Bytes pattern) {
  const Bytes beginning = glob_prefix(pattern);
  return map.generic() && beginning.size() > map.prefix().size() ? beginning.substr(map.prefix().size()) : Bytes{};
}

/// The first key behind all that begin so; nothing: there is none.
std::span<const Value> behind(Call &call, Bytes beginning) {
  std::string text(beginning);
  while (!text.empty() && static_cast<uint8_t>(text.back()) == 0xff) text.pop_back();
  if (text.empty()) return {};
  text.back() = static_cast<char>(text.back() + 1);
  const std::span<Value> key = call.arena().array<Value>(1);
  key[0] = Value::of(call.arena().copy(text));
  return key;
}

KeyFilter filter_of(Call &call, Bytes pattern) {
  return {.pattern = pattern,
          .now_ms = call.now_ms,
          .db = call.session.client().database(),
          .snapshot = call.session.tables().open().snapshot()};
}

// --- SCAN
// ---------------------------------------------------------------------------------------------------------------

/// Hears one piece of a scan and tells it, with the cursor of the next one.
class ScanReply final : public KeyReply, public Kept {
 public:
  ScanReply(Call &call, OpenMap &open, OpenTable &table, const KeyFilter &filter, uint64_t limit, uint32_t next_map)
      : KeyReply(call, table),
        cursors_(call.session.protocol().cursors()),
        owner_(call.session.client().user()),
        open_(open),
        filter_(filter),
        pattern_(filter.pattern),
        limit_(limit),
        next_map_(next_map) {
    filter_.pattern = pattern_;
  }

  Flow row(Row row) override {
    ++rows_;
    std::string key;
    if (filter_.takes(*open_.map, row, key)) keys_.push_back(std::move(key));
    if (rows_ == limit_) note_place(row);
    return Flow::more;
  }
  void done(const Outcome &outcome) override {
    if (outcome.failure != Failure::none) return fail(outcome);
    uint64_t cursor = 0;
    if (rows_ >= limit_ || next_map_ != MapSnapshot::none) {
      ScanPlace place{.owner = owner_, .db = filter_.db};
      place.prefix = rows_ >= limit_ ? open_.map->prefix() : filter_.snapshot->maps()[next_map_]->prefix();
      if (rows_ >= limit_) place.last = last_;
      cursor = cursors_.put(std::move(place));
    }
    Writer writer = begin();
    writer.array(2);
    writer.bulk_integer(static_cast<int64_t>(cursor));
    writer.array(keys_.size());
    for (const std::string &key : keys_) writer.bulk(key);
  }
  void restart() override {
    passage_.take_back();
    rows_ = 0;
    keys_.clear();
    last_.clear();
  }

 private:
  void note_place(Row row) {
    for (uint32_t i = 0; i < open_.map->key_columns(); ++i) {
      char room[20];
      last_.emplace_back(text_of(row[i], room));
    }
  }

  ScanCursors &cursors_;
  const std::string owner_;
  OpenMap &open_;
  KeyFilter filter_;
  const std::string pattern_;
  const uint64_t limit_;
  const uint32_t next_map_;
  uint64_t rows_ = 0;
  std::vector<std::string> keys_;
  std::vector<std::string> last_;
};

struct ScanArguments {
  KeyFilter filter;
  uint64_t count = 10;
};

/// False: told why not.
bool read_scan(Call &call, ScanArguments &scan) {
  for (size_t i = 2; i < call.arguments.size(); i += 2) {
    const Bytes word = call.arguments[i];
    const bool last = i + 1 == call.arguments.size();
    int64_t count = 0;
    if (!last && is_word(word, "match")) {
      scan.filter.pattern = call.arguments[i + 1];
    } else if (!last && is_word(word, "count")) {
      if (!parse_integer(call.arguments[i + 1], count)) {
        refuse(call, not_an_integer);
        return false;
      }
      if (count < 1) {
        refuse(call, syntax_error);
        return false;
      }
      scan.count = std::min(static_cast<uint64_t>(count), scan_count_max);
    } else if (!last && is_word(word, "type")) {
      const Bytes type = call.arguments[i + 1];
      scan.filter.type = is_word(type, "string") ? Type::string
                         : is_word(type, "list") ? Type::list
                         : is_word(type, "set")  ? Type::set
                         : is_word(type, "hash") ? Type::hash
                         : is_word(type, "zset") ? Type::zset
                                                 : Type::none;
      scan.filter.no_type = scan.filter.type == Type::none;
    } else {
      refuse(call, syntax_error);
      return false;
    }
  }
  return true;
}

Next tell_scan_end(Call &call) {
  answer(call, [](Writer &writer) {
    writer.array(2);
    writer.bulk("0");
    writer.array(0);
  });
  return Next::go_on;
}

/// The first mapping at or behind `number` that may have keys of the pattern.
uint32_t next_map(const KeyFilter &filter, uint32_t number) {
  const auto [first, end] = filter.snapshot->of_database(filter.db);
  for (number = std::max(number, first); number < end; ++number)
    if (filter.may_take(*filter.snapshot->maps()[number])) return number;
  return MapSnapshot::none;
}

// --- all keys
// ---------------------------------------------------------------------------------------------------------------

/// Walks the keys of a database, some rows at a time.
class KeysWork : public Work {
 public:
  KeysWork(Call &call, const KeyFilter &filter, std::vector<OpenMap *> maps, std::vector<OpenTable *> tables)
      : Work(call, *maps.front()),
        filter_(filter),
        pattern_(filter.pattern),
        maps_(std::move(maps)),
        tables_(std::move(tables)) {
    filter_.pattern = pattern_;
  }

 protected:
  static constexpr uint64_t rows_at_a_time = 10'000;

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
    // Each of the keys seen so far with the same chance.
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
  FlushWork(Call &call, std::vector<OpenMap *> maps) : Work(call, *maps.front()), maps_(std::move(maps)) {}

 private:
  Task<> run() override {
    const Find everything{.comparison = Comparison::at_least, .limit = all};
    for (OpenMap *const map : maps_) {
      use(*map);
      add_erase(open().table, everything);
      if (map->map->generic())
        for (const Type type : {Type::hash, Type::set, Type::zset, Type::list})
          add_erase(*elements_of(type), everything);
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
  for (uint32_t number = next_map(filter, 0); number != MapSnapshot::none; number = next_map(filter, number + 1)) {
    maps.push_back(&call.session.tables().open().open(number, call.batch));
    tables.push_back(&open_keys(call, *maps.back()));
  }
  if (maps.empty()) return with_none();
  return begin_work(call, call.session.tables().keep<TheWork>(call, filter, std::move(maps), std::move(tables)));
}

Next flush(Call &call, uint32_t first_db, uint32_t last_db) {
  if (call.arguments.size() > 2 ||
      (call.arguments.size() == 2 && !is_word(call.arguments[1], "async") && !is_word(call.arguments[1], "sync")))
    return refuse(call, syntax_error);
  OpenMaps &open = call.session.tables().open();
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
  return begin_work(call, call.session.tables().keep<FlushWork>(call, std::move(maps)));
}

}  // namespace

namespace lower {

Next scan(Call &call) {
  uint64_t cursor = 0;
  ScanArguments scan{filter_of(call, "*")};
  if (!parse_natural(call.arguments[1], cursor)) return refuse(call, "ERR invalid cursor");
  if (!read_scan(call, scan)) return Next::go_on;
  if (scan.filter.snapshot == nullptr) return tell_scan_end(call);
  ScanPlace place;
  if (cursor != 0 &&
      !call.session.protocol().cursors().get(cursor, call.session.client().user(), scan.filter.db, place))
    return refuse(call, "ERR invalid cursor");
  const auto [first, end] = scan.filter.snapshot->of_database(scan.filter.db);
  uint32_t number = first;
  if (cursor != 0)
    while (number < end && scan.filter.snapshot->maps()[number]->prefix() < place.prefix) ++number;
  const uint32_t there = number;
  number = next_map(scan.filter, number);
  if (number == MapSnapshot::none) return tell_scan_end(call);
  if (number != there || scan.filter.snapshot->maps()[number]->prefix() != place.prefix) place.last.clear();
  OpenMap &open = call.session.tables().open().open(number, call.batch);
  OpenTable &table = open_keys(call, open);
  scan.filter.map_number = number;
  auto &reply = call.session.tables().keep<ScanReply>(call, open, table, scan.filter, scan.count,
                                                      next_map(scan.filter, number + 1));
  Find &find = *call.arena().make<Find>(Find{.comparison = Comparison::at_least, .limit = scan.count});
  const Bytes beginning = beginning_in(*open.map, scan.filter.pattern);
  if (!place.last.empty()) {
    const std::span<Value> key = call.arena().array<Value>(place.last.size());
    for (size_t i = 0; i < key.size(); ++i) key[i] = Value::of(call.arena().copy(place.last[i]));
    find.comparison = Comparison::greater;
    find.key = key;
    find.until = behind(call, beginning);
    find.until_included = false;
  } else if (!beginning.empty()) {
    const std::span<Value> key = call.arena().array<Value>(1);
    key[0] = Value::of(beginning);
    find.key = key;
    find.prefix = true;
  }
  add_op(call, Verb::find, table, reply).find = &find;
  return Next::go_on;
}

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
  return flush(call, call.session.client().database(), call.session.client().database());
}

Next flushall(Call &call) {
  return flush(call, 0, MapSnapshot::databases - 1);
}

}  // namespace lower
}  // namespace postern::redis
