#include "redis/commands/scan_elements.h"

#include <algorithm>
#include <utility>

#include "redis/collections/scores.h"
#include "redis/hashes/row_hash.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"
#include "redis/wire/glob.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

/// A key with no more elements is answered whole, as Redis answers its small ones.
constexpr int64_t told_whole_max = 128;
constexpr Bytes invalid_cursor = "ERR invalid cursor";
/// After that many bytes an answer ends, even after one element.
constexpr size_t told_bytes_max = size_t{1} << 20;

/// Programs expect a small sorted set in the order in which Redis answers it: by score, then by member.
void sort_by_score(std::vector<Cells> &rows) {
  const auto place = [](const Cells &row) {
    return std::pair(score_in(Bytes(row[column::score].text)), Bytes(row[column::member].text));
  };
  std::sort(rows.begin(), rows.end(),
            [place](const Cells &one, const Cells &other) { return place(one) < place(other); });
}

/// Returns false after answering an error.
bool read_options(Call &call, ScanElements::Wanted &wanted) {
  for (size_t i = 3; i < call.arguments.size(); i += 2) {
    const Bytes word = call.arguments[i];
    const bool last = i + 1 == call.arguments.size();
    int64_t count = 0;
    if (wanted.type == Type::hash && is_word(word, "novalues")) {
      wanted.with_more = false;
      --i;  // it is one word
      continue;
    }
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

void ScanElements::Wanted::tell(Writer &writer, uint64_t cursor, std::vector<Cells> rows) const {
  std::erase_if(rows, [this](const Cells &row) { return !glob_matches(pattern, row[column::member].text); });
  const bool pairs = with_more && type != Type::set;
  writer.array(2);
  writer.bulk_integer(static_cast<int64_t>(cursor));
  writer.array(pairs ? 2 * rows.size() : rows.size());
  for (const Cells &row : rows) {
    writer.bulk(row[column::member].text);
    if (!pairs) continue;
    if (type == Type::hash) {
      writer.bulk(row[column::value].text);
      continue;
    }
    char text[40];
    writer.bulk({text, print_double(text, score_in(Bytes(row[column::score].text)))});
  }
}

Task<> ScanElements::run() {
  const Entry entry = co_await look(row_key(arguments_[1]));
  if (is_wrong(entry, wanted_.type)) co_return;
  if (wanted_.is_lost && entry.live && entry.len > told_whole_max) co_return writer().error(invalid_cursor);
  std::vector<Cells> rows;
  uint64_t cursor = 0;
  if (entry.live) cursor = co_await read(entry, rows);
  Writer to = writer();
  wanted_.tell(to, cursor, std::move(rows));
}

/// The cursor of the elements after those that were read.
Task<uint64_t> ScanElements::read(const Entry &entry, std::vector<Cells> &rows) {
  const bool begins = wanted_.place.last.empty();
  Find find{.comparison = begins ? Comparison::at_least : Comparison::greater};
  find.key = begins ? key_of(entry) : element_of(entry, wanted_.place.last[0]);
  find.until = key_of(entry);
  find.limit = begins && entry.len <= told_whole_max ? all : wanted_.count;
  size_t bytes = 0;
  bool enough = false;
  const size_t columns = (wanted_.with_more && wanted_.type != Type::set ? column::value : column::member) + 1;
  StepReply &found = add_read(*elements_of(wanted_.type), find);
  found.hears = [&](Row row, uint64_t before) {
    if (before == 0) {
      rows.clear();
      bytes = 0;
      enough = false;
    }
    enough = enough || bytes > told_bytes_max;
    if (enough) return Flow::more;
    Cells &cells = rows.emplace_back();
    for (const Value &value : row.first(columns)) {
      char room[20];
      cells.push_back({value.is_null(), std::string(text_of(value, room))});
      bytes += cells.back().text.size();
    }
    return Flow::more;
  };
  co_await go();
  if (!enough && rows.size() != find.limit) {
    if (find.limit == all && wanted_.type == Type::zset) sort_by_score(rows);
    co_return 0;
  }
  ScanPlace place = wanted_.place;
  place.last = {rows.back()[column::member].text};
  co_return cursors_.put(std::move(place));
}

Next scan_elements(Call &call, Type type) {
  uint64_t cursor = 0;
  ScanElements::Wanted wanted{.type = type};
  if (!parse_cursor(call.arguments[2], cursor)) return refuse(call, invalid_cursor);
  if (!read_options(call, wanted)) return Next::go_on;
  const uint32_t db = call.session.client().database();
  const std::string owner(call.session.client().user());
  if (cursor != 0) {
    const bool is_known = call.session.protocol().cursors().get(cursor, owner, db, wanted.place);
    wanted.is_lost = !is_known || wanted.place.prefix != call.arguments[1];
    if (wanted.is_lost) wanted.place.last.clear();
  }
  wanted.place.owner = owner;
  wanted.place.db = db;
  wanted.place.prefix = call.arguments[1];
  const Place place = place_of(call, call.arguments[1]);
  const auto absent = [](Writer &writer) {
    writer.array(2);
    writer.bulk("0");
    writer.array(0);
  };
  if (type == Type::hash && place.state == Place::State::there && place.map().kind() == Map::Kind::row) {
    return read_place(call, place,
                      [absent, pattern = wanted.pattern, with_more = wanted.with_more, map = place.open->map.get()](
                          Writer &writer, const KeyState *state, Row row) {
                        if (state == nullptr) return absent(writer);
                        const ScanElements::Wanted all{.type = Type::hash, .pattern = pattern, .with_more = with_more};
                        all.tell(writer, 0, elements_of_row(*map, row));
                      });
  }
  return begin_reading<ScanElements>(call, place, absent, std::move(wanted));
}

namespace lower {

Next hscan(Call &call) {
  return scan_elements(call, Type::hash);
}

Next sscan(Call &call) {
  return scan_elements(call, Type::set);
}

Next zscan(Call &call) {
  return scan_elements(call, Type::zset);
}

}  // namespace lower
}  // namespace postern::redis
