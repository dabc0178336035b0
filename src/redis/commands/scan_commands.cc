#include <algorithm>
#include <string>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/scan_cursors.h"
#include "redis/session.h"
#include "redis/wire/glob.h"
#include "redis/wire/numbers.h"
#include "redis/work/key_filter.h"
#include "redis/work/key_ops.h"

namespace postern::redis {
namespace {

/// The prefix of matching keys in the table of a generic keyspace; empty: any.
Bytes beginning_in(const Map &map, Bytes pattern) {
  const Bytes beginning = glob_prefix(pattern);
  return map.generic() && beginning.size() > map.prefix().size() ? beginning.substr(map.prefix().size()) : Bytes{};
}

/// The first key after all with that prefix; empty: none.
std::span<const Value> behind(Call &call, Bytes beginning) {
  std::string text(beginning);
  while (!text.empty() && static_cast<uint8_t>(text.back()) == 0xff) text.pop_back();
  if (text.empty()) return {};
  text.back() = static_cast<char>(text.back() + 1);
  const std::span<Value> key = call.arena().array<Value>(1);
  key[0] = Value::of(call.arena().copy(text));
  return key;
}

/// Collects one piece of a scan and answers it, with the cursor of the next one.
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
    if (outcome.failure != Failure::none && !is_passed_over(outcome.failure)) return fail(outcome);
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

/// Returns false after answering an error.
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
      scan.filter.type = is_word(type, "string")   ? Type::string
                         : is_word(type, "list")   ? Type::list
                         : is_word(type, "set")    ? Type::set
                         : is_word(type, "hash")   ? Type::hash
                         : is_word(type, "zset")   ? Type::zset
                         : is_word(type, "stream") ? Type::stream
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

}  // namespace

namespace lower {

Next scan(Call &call) {
  uint64_t cursor = 0;
  ScanArguments scan{filter_of(call, "*")};
  if (!parse_cursor(call.arguments[1], cursor)) return refuse(call, "ERR invalid cursor");
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
  number = scan.filter.next_map(number);
  if (number == MapSnapshot::none) return tell_scan_end(call);
  if (number != there || scan.filter.snapshot->maps()[number]->prefix() != place.prefix) place.last.clear();
  OpenMap &open = call.session.tables().open().open(number, call.batch);
  OpenTable &table = open_keys(call, open);
  scan.filter.map_number = number;
  auto &reply = call.session.tables().keep<ScanReply>(call, open, table, scan.filter, scan.count,
                                                      scan.filter.next_map(number + 1));
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

}  // namespace lower
}  // namespace postern::redis
