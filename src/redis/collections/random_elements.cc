#include "redis/collections/random_elements.h"

#include <algorithm>
#include <limits>

#include "base/limits.h"
#include "redis/collections/chance.h"
#include "redis/collections/scores.h"
#include "redis/errors.h"
#include "redis/wire/numbers.h"

namespace postern::redis {

Task<> RandomWork::read_at(OpenTable &table, const Entry &entry, const std::vector<uint64_t> &places, size_t columns,
                           std::vector<Cells> &rows) {
  rows.clear();
  if (places.empty()) co_return;
  const auto length = static_cast<uint64_t>(entry.len);
  const bool from_end = places.front() > length / 2;
  Find find{.comparison = from_end ? Comparison::at_most : Comparison::at_least, .key = key_of(entry)};
  find.until = find.key;
  const uint64_t first = from_end ? length - 1 - places.back() : places.front();
  find.offset = first;
  find.limit = places.back() - places.front() + 1;
  const std::function<bool(uint64_t)> wanted = [&places, first, from_end, length](uint64_t before) {
    return std::binary_search(places.begin(), places.end(), from_end ? length - 1 - first - before : first + before);
  };
  co_await read_rows(table, find, columns, wanted, rows);
  if (from_end) std::reverse(rows.begin(), rows.end());
}

/// Keeps the first `columns` of the rows that are `wanted(rows before)`.
Task<> RandomWork::read_rows(OpenTable &table, const Find &find, size_t columns,
                             const std::function<bool(uint64_t)> &wanted, std::vector<Cells> &rows) {
  rows.clear();
  StepReply &found = add_read(table, find);
  size_t bytes = 0;
  found.hears = [&](Row row, uint64_t before) {
    if (before == 0) {
      rows.clear();
      bytes = 0;
    }
    if (!wanted(before)) return Flow::more;
    Cells &cells = rows.emplace_back();
    for (const Value &value : row.first(columns)) {
      char room[20];
      cells.push_back({value.is_null(), std::string(text_of(value, room))});
      bytes += sizeof(Cell) + cells.back().text.size();
    }
    return bytes <= limits::edit_reply_bytes_max ? Flow::more : Flow::pause;
  };
  co_await go();
}

bool read_random_choice(Call &call, Bytes word, RandomChoice &choice) {
  const auto arguments = call.arguments;
  if (arguments.size() == 2) return true;
  const auto wrong = [&call](Bytes why) {
    refuse(call, why);
    return false;
  };
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  choice.one = false;
  choice.with_more = arguments.size() == 4;
  if (word.empty() && arguments.size() > 3) return wrong(syntax_error);
  if (!parse_integer(arguments[2], choice.count)) return wrong(not_an_integer);
  if (choice.count < -most)
    return wrong("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
  if (arguments.size() > 4 || (choice.with_more && !is_word(arguments[3], word))) return wrong(syntax_error);
  if (choice.with_more && choice.count > most / 2) return wrong(out_of_range);
  return choice.count >= -RandomChoice::repeated_max || wrong(out_of_range);
}

std::vector<uint64_t> RandomChoice::places(uint64_t length) const {
  return count < 0 ? repeated_places(length, static_cast<uint64_t>(-count))
                   : distinct_places(length, static_cast<uint64_t>(count));
}

void RandomChoice::tell(Writer &writer, Type type, const std::vector<const Cells *> &rows) const {
  if (one) {
    rows.empty() ? writer.nil() : writer.bulk((*rows[0])[column::member].text);
    return;
  }
  size_t bytes = 0;
  for (const Cells *const row : rows)
    for (const Cell &cell : *row) bytes += cell.text.size();
  if (bytes > limits::edit_reply_bytes_max) return write_failure(writer, {.failure = Failure::reply_too_large});
  writer.array(with_more && !writer.three() ? 2 * rows.size() : rows.size());
  for (const Cells *const row : rows) {
    if (with_more && writer.three()) writer.array(2);
    writer.bulk((*row)[column::member].text);
    if (!with_more) continue;
    if (type == Type::hash) writer.bulk((*row)[column::value].text);
    else writer.number(score_in(Bytes((*row)[column::score].text)));
  }
}

Task<> RandomElements::run() {
  const Entry entry = co_await look(row_key(arguments_[1]));
  if (is_wrong(entry, type_)) co_return;
  Writer to = writer();
  if (choice_.count > 0 && !may_choose(entry, static_cast<uint64_t>(choice_.count)))
    co_return write_failure(to, {.failure = Failure::reply_too_large});
  const size_t columns = (choice_.with_more ? column::value : column::member) + 1;
  std::vector<Cells> rows;
  std::vector<const Cells *> chosen;
  if (entry.live && are_few(entry, choice_.wanted())) {
    co_await draw(*elements_of(type_), entry, choice_.wanted(), choice_.count > 0, columns, rows);
    for (const Cells &row : rows) chosen.push_back(&row);
  } else {
    co_await walk(entry, columns, rows, chosen);
  }
  choice_.tell(to, type_, chosen);
}

Task<> RandomElements::walk(const Entry &entry, size_t columns, std::vector<Cells> &rows,
                            std::vector<const Cells *> &chosen) {
  const std::vector<uint64_t> drawn = choice_.places(entry.live ? static_cast<uint64_t>(entry.len) : 0);
  std::vector<uint64_t> places = drawn;
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  co_await read_at(*elements_of(type_), entry, places, columns, rows);
  for (const uint64_t place : drawn) {
    const auto at = static_cast<size_t>(std::lower_bound(places.begin(), places.end(), place) - places.begin());
    if (at < rows.size()) chosen.push_back(&rows[at]);
  }
}

}  // namespace postern::redis
