#include "redis/lists/list_work.h"

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

int64_t ListWork::next_place(Entry &entry, bool front) {
  if (front) entry.head = place_behind(entry.head, -1);
  ++entry.len;
  return front ? entry.head : place_behind(entry.head, entry.len - 1);
}

Task<> ListWork::push(Entry &entry, std::span<const Bytes> elements, bool front) {
  for (const Bytes element : elements) {
    const int64_t position = next_place(entry, front);
    add_insert(lists(), {Value::of(entry.key), Value::of_integer(position), Value::of(element)}, OnDuplicate::fail);
  }
  co_await go();
}

Task<bool> ListWork::push_at_once(RowKey key, Entry &entry, std::span<const Bytes> elements, bool front) {
  std::vector<std::span<Value>> rows(elements.size());
  const auto add = [&] {
    for (size_t i = 0; i < elements.size(); ++i) {
      rows[i] = values(column::value + 1);
      rows[i][0] = Value::of(key.text);
      rows[i][column::value] = Value::of(elements[i]);
      add_insert(lists(), rows[i], OnDuplicate::fail);
    }
  };
  const auto meet = [&] {
    for (const std::span<Value> row : rows) row[column::position] = Value::of_integer(next_place(entry, front));
    return true;
  };
  co_return co_await add_elements_to(key, Type::list, entry, Doing(add), Doing(meet));
}

Task<> ListWork::pop(Entry &entry, uint64_t count, bool from_end, std::vector<std::string> &taken, Storing storing) {
  taken.clear();
  count = std::min(count, static_cast<uint64_t>(entry.len));
  if (count == 0) co_return;
  const uint64_t first = from_end ? static_cast<uint64_t>(entry.len) - count : 0;
  StepReply &erased = add_take(lists(), stretch(entry, {first, count}, from_end));
  entry.len -= static_cast<int64_t>(count);
  if (!from_end) entry.head = place_behind(entry.head, static_cast<int64_t>(count));
  StoreEdit edit(entry);
  if (storing == Storing::at_once) add_store(entry, edit);
  co_await go();
  for (Cells &row : erased.rows) taken.push_back(std::move(row[column::value].text));
}

/// It ends with the rows, even if the key's row counts more.
Task<> ListWork::search(const Entry &entry, const Search &search, std::vector<int64_t> &indexes) {
  constexpr uint64_t rows_at_a_time = 1'000;
  indexes.clear();
  Places::Stretch rest{0, static_cast<uint64_t>(entry.len)};
  uint64_t looked_at = 0;
  uint64_t met = 0;
  for (bool more = true; more && rest.count != 0 && indexes.size() < search.wanted;) {
    Find find = stretch(entry, rest, search.from_end);
    find.limit = std::min(rows_at_a_time, search.length_max - looked_at);
    StepReply &found = search.locks ? add_lock(lists(), find) : add_read(lists(), find);
    std::vector<int64_t> here;
    uint64_t last = 0;
    found.hears = [&](Row row, uint64_t before) {
      char room[20];
      if (before == 0) here.clear();
      last = static_cast<uint64_t>(integer_in(row[column::position]) - entry.head);
      if (text_of(row[column::value], room) == search.element) here.push_back(static_cast<int64_t>(last));
      return Flow::more;
    };
    co_await go();
    for (const int64_t index : here)
      if (++met > search.skipped && indexes.size() < search.wanted) indexes.push_back(index);
    looked_at += found.met;
    more = found.met == rows_at_a_time && looked_at < search.length_max;
    rest = search.from_end ? Places::Stretch{0, last}
                           : Places::Stretch{last + 1, static_cast<uint64_t>(entry.len) - last - 1};
  }
}

}  // namespace postern::redis
