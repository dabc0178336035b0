#include "redis/list_work.h"

#include <algorithm>

namespace postern::redis {

Find ListWork::stretch(const Entry &entry, const Places::Stretch &stretch, bool back) {
  const auto first = static_cast<int64_t>(stretch.offset);
  const auto last = static_cast<int64_t>(stretch.offset + stretch.count) - 1;
  return {.comparison = back ? Comparison::at_most : Comparison::at_least,
          .key = at(entry, back ? last : first),
          .limit = all,
          .until = at(entry, back ? first : last)};
}

Task<> ListWork::push(Entry &entry, std::span<const Bytes> elements, bool front) {
  for (const Bytes element : elements) {
    if (front) --entry.head;
    ++entry.len;
    const int64_t position = front ? entry.head : entry.head + entry.len - 1;
    add_insert(lists(), {Value::of(entry.key), Value::of_integer(position), Value::of(element)}, OnDuplicate::fail);
  }
  co_await go();
}

Task<> ListWork::pop(Entry &entry, uint64_t count, bool from_end, std::vector<std::string> &taken) {
  taken.clear();
  count = std::min(count, static_cast<uint64_t>(entry.len));
  if (count == 0) co_return;
  const uint64_t first = from_end ? static_cast<uint64_t>(entry.len) - count : 0;
  StepReply &erased = add_take(lists(), stretch(entry, {first, count}, from_end));
  co_await go();
  for (Cells &row : erased.rows) taken.push_back(std::move(row[column::value].text));
  entry.len -= static_cast<int64_t>(count);
  if (!from_end) entry.head += static_cast<int64_t>(count);
}

Task<> ListWork::search(const Entry &entry, const Search &search, std::vector<int64_t> &indexes) {
  constexpr uint64_t rows_at_a_time = 1'000;
  indexes.clear();
  const auto length = static_cast<uint64_t>(entry.len);
  const uint64_t end = std::min(length, search.length_max);
  uint64_t met = 0;
  for (uint64_t passed = 0; passed < end && indexes.size() < search.wanted; passed += rows_at_a_time) {
    const uint64_t count = std::min(rows_at_a_time, end - passed);
    const uint64_t first = search.from_end ? length - passed - count : passed;
    const Find find = stretch(entry, {first, count}, search.from_end);
    StepReply &found = search.locks ? add_lock(lists(), find) : add_read(lists(), find);
    std::vector<int64_t> here;
    found.hears = [&](Row row, uint64_t before) {
      char room[20];
      if (before == 0) here.clear();
      if (text_of(row[column::value], room) == search.element)
        here.push_back(integer_in(row[column::position]) - entry.head);
      return Flow::more;
    };
    co_await go();
    for (const int64_t index : here)
      if (++met > search.skipped && indexes.size() < search.wanted) indexes.push_back(index);
  }
}

}  // namespace postern::redis
