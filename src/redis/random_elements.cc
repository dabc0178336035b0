#include "redis/random_elements.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/limits.h"
#include "redis/scores.h"
#include "redis/wire/numbers.h"

namespace postern::redis {

std::vector<uint64_t> RandomWork::distinct_places(uint64_t length, uint64_t count) {
  std::vector<uint64_t> places;
  if (count >= length) {
    for (uint64_t place = 0; place < length; ++place) places.push_back(place);
    return places;
  }
  // Floyd's algorithm: each choice of so many has the same chance.
  std::set<uint64_t> chosen;
  for (uint64_t last = length - count; last < length; ++last) {
    const uint64_t place = random_below(last + 1);
    chosen.insert(chosen.contains(place) ? last : place);
  }
  places.assign(chosen.begin(), chosen.end());
  return places;
}

Task<> RandomWork::read_at(OpenTable &table, const Entry &entry, const std::vector<uint64_t> &places,
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
  StepReply &found = add_read(table, find);
  size_t bytes = 0;
  found.hears = [&](Row row, uint64_t before) {
    if (before == 0) {
      rows.clear();
      bytes = 0;
    }
    const uint64_t place = from_end ? length - 1 - first - before : first + before;
    if (!std::binary_search(places.begin(), places.end(), place)) return Flow::more;
    Cells &cells = rows.emplace_back();
    for (const Value &value : row) {
      char room[20];
      cells.push_back({value.is_null(), std::string(text_of(value, room))});
      bytes += sizeof(Cell) + cells.back().text.size();
    }
    return bytes <= limits::edit_reply_bytes_max ? Flow::more : Flow::pause;
  };
  co_await go();
  if (from_end) std::reverse(rows.begin(), rows.end());
}

bool read_random_choice(Call &call, Bytes word, RandomChoice &choice) {
  const auto arguments = call.arguments;
  if (arguments.size() == 2) return true;
  choice.one = false;
  if (arguments.size() > (word.empty() ? 3 : 4) || (arguments.size() == 4 && !is_word(arguments[3], word))) {
    refuse(call, syntax_error);
    return false;
  }
  choice.with_more = arguments.size() == 4;
  if (!parse_integer(arguments[2], choice.count)) {
    refuse(call, not_an_integer);
    return false;
  }
  if (choice.count < -RandomChoice::repeated_max) {
    refuse(call, out_of_range);
    return false;
  }
  return true;
}

Task<> RandomElements::run() {
  const Entry entry = co_await look(arguments_[1]);
  if (is_wrong(entry, type_)) co_return;
  std::vector<uint64_t> places;
  std::vector<uint64_t> drawn;
  if (entry.live && choice_.count < 0) {
    for (int64_t i = 0; i > choice_.count; --i) drawn.push_back(random_below(static_cast<uint64_t>(entry.len)));
    places = drawn;
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
  } else if (entry.live) {
    places = distinct_places(static_cast<uint64_t>(entry.len), static_cast<uint64_t>(choice_.count));
  }
  std::vector<Cells> rows;
  co_await read_at(*elements_of(type_), entry, places, rows);
  std::vector<const Cells *> chosen;
  if (rows.size() == places.size() && choice_.count < 0) {
    for (const uint64_t place : drawn) {
      const auto at = std::lower_bound(places.begin(), places.end(), place) - places.begin();
      chosen.push_back(&rows[static_cast<size_t>(at)]);
    }
  } else {
    for (const Cells &row : rows) chosen.push_back(&row);
  }
  tell(chosen);
}

void RandomElements::tell(const std::vector<const Cells *> &chosen) {
  Writer to = writer();
  if (choice_.one) {
    chosen.empty() ? to.nil() : to.bulk((*chosen[0])[column::member].text);
    return;
  }
  to.array(choice_.with_more && !to.three() ? 2 * chosen.size() : chosen.size());
  for (const Cells *const row : chosen) {
    if (choice_.with_more && to.three()) to.array(2);
    to.bulk((*row)[column::member].text);
    if (choice_.with_more) to.number(score_in(Bytes((*row)[column::score].text)));
  }
}

}  // namespace postern::redis
