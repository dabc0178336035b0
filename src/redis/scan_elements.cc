#include "redis/scan_elements.h"

#include <algorithm>

#include "redis/handlers.h"
#include "redis/scores.h"
#include "redis/session.h"
#include "redis/wire/glob.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

constexpr uint64_t scan_count_max = 10'000;
/// A key with no more elements is told whole, as Redis tells its small ones.
constexpr int64_t told_whole_max = 128;

/// False: told what is wrong.
bool read_options(Call &call, ScanElements::Wanted &wanted) {
  for (size_t i = 3; i < call.arguments.size(); i += 2) {
    const Bytes word = call.arguments[i];
    const bool last = i + 1 == call.arguments.size();
    int64_t count = 0;
    if (!last && is_word(word, "match")) {
      wanted.pattern = call.arguments[i + 1];
      continue;
    }
    const bool is_count = !last && is_word(word, "count");
    if (is_count && !parse_integer(call.arguments[i + 1], count)) {
      refuse(call, not_an_integer);
      return false;
    }
    if (!is_count || count < 1) {
      refuse(call, syntax_error);
      return false;
    }
    wanted.count = std::min(static_cast<uint64_t>(count), scan_count_max);
  }
  return true;
}

}  // namespace

ScanElements::ScanElements(Call &call, OpenMap &open, Wanted wanted)
    : CollectionWork(call, open), cursors_(call.session.protocol().cursors()), wanted_(std::move(wanted)) {}

Task<> ScanElements::run() {
  const Entry entry = co_await look(arguments_[1]);
  if (is_wrong(entry, wanted_.type)) co_return;
  std::vector<Cells> rows;
  uint64_t cursor = 0;
  if (entry.live) {
    const bool begins = wanted_.place.last.empty();
    Find find{.comparison = begins ? Comparison::at_least : Comparison::greater};
    find.key = begins ? key_of(entry) : element_of(entry.key, wanted_.place.last[0]);
    find.until = key_of(entry);
    find.limit = begins && entry.len <= told_whole_max ? all : wanted_.count;
    StepReply &found = add_read(*elements_of(wanted_.type), find);
    co_await go();
    rows = std::move(found.rows);
    if (rows.size() == find.limit) {
      ScanPlace place = wanted_.place;
      place.last = {rows.back()[column::member].text};
      cursor = cursors_.put(std::move(place));
    }
  }
  std::erase_if(rows, [this](const Cells &row) { return !glob_matches(wanted_.pattern, row[column::member].text); });
  tell(cursor, rows);
}

void ScanElements::tell(uint64_t cursor, const std::vector<Cells> &rows) {
  const bool pairs = wanted_.type != Type::set;
  Writer to = writer();
  to.array(2);
  to.bulk_integer(static_cast<int64_t>(cursor));
  to.array(pairs ? 2 * rows.size() : rows.size());
  for (const Cells &row : rows) {
    to.bulk(row[column::member].text);
    if (wanted_.type == Type::hash) to.bulk(row[column::value].text);
    if (wanted_.type != Type::zset) continue;
    char text[40];
    to.bulk({text, print_double(text, score_in(Bytes(row[column::score].text)))});
  }
}

Next scan_elements(Call &call, Type type) {
  uint64_t cursor = 0;
  ScanElements::Wanted wanted{.type = type};
  if (!parse_natural(call.arguments[2], cursor)) return refuse(call, "ERR invalid cursor");
  if (!read_options(call, wanted)) return Next::go_on;
  const uint32_t db = call.session.client().database();
  const std::string owner(call.session.client().user());
  if (cursor != 0 && !call.session.protocol().cursors().get(cursor, owner, db, wanted.place))
    return refuse(call, "ERR invalid cursor");
  if (cursor != 0 && wanted.place.prefix != call.arguments[1]) return refuse(call, "ERR invalid cursor");
  wanted.place.owner = owner;
  wanted.place.db = db;
  wanted.place.prefix = call.arguments[1];
  const auto absent = [](Writer &writer) {
    writer.array(2);
    writer.bulk("0");
    writer.array(0);
  };
  return begin_reading<ScanElements>(call, call.arguments[1], absent, std::move(wanted));
}

namespace lower {

Next sscan(Call &call) {
  return scan_elements(call, Type::set);
}

Next zscan(Call &call) {
  return scan_elements(call, Type::zset);
}

}  // namespace lower
}  // namespace postern::redis
