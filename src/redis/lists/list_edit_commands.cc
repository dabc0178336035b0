#include <algorithm>
#include <vector>

#include "redis/lists/list_work.h"
#include "redis/registry/handlers.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

class SetElement final : public ListWork {
 public:
  SetElement(Call &call, OpenMap &open, int64_t index) : ListWork(call, open), index_(index) {}

 private:
  Task<> run() override {
    const Entry entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong(entry, Type::list)) co_return;
    const int64_t index = index_ < 0 ? index_ + entry.len : index_;
    if (!entry.live || index < 0 || index >= entry.len) {
      writer().error(entry.live ? Bytes("ERR index out of range") : no_such_key);
      co_return;
    }
    EditBy change([this](Row, Draft &next) {
      next.set(column::value, Value::of(arguments_[3]));
      return Decision::write;
    });
    add_edit(lists(), {.key = at(entry, index), .limit = 1}, change);
    co_await store(entry);
    writer().ok();
  }

  const int64_t index_;
};

class InsertBeside final : public ListWork {
 public:
  InsertBeside(Call &call, OpenMap &open, bool behind) : ListWork(call, open), behind_(behind) {}

 private:
  Task<> run() override {
    Entry entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong(entry, Type::list)) co_return;
    std::vector<int64_t> found;
    const Search what{.element = arguments_[3], .wanted = 1};
    if (entry.live) co_await search(entry, what, found);
    if (found.empty()) {
      writer().integer(entry.live ? -1 : 0);
      co_return;
    }
    co_await insert(entry, found.front() + (behind_ ? 1 : 0));
    co_await store(entry);
    writer().integer(entry.len);
  }

  /// Moves the elements of the shorter side to make room.
  Task<> insert(Entry &entry, int64_t index) {
    const bool in_front = index < entry.len - index;
    EditBy move([in_front](Row row, Draft &next) {
      next.set(column::position, Value::of_integer(place_behind(integer_in(row[column::position]), in_front ? -1 : 1)));
      return Decision::write;
    });
    const int64_t moved = in_front ? index : entry.len - index;
    // In that order no element moves to the position of one that has not moved.
    const Places::Stretch side{static_cast<uint64_t>(in_front ? 0 : index), static_cast<uint64_t>(moved)};
    if (moved != 0) add_edit(lists(), stretch(entry, side, !in_front), move);
    co_await go();
    if (in_front) entry.head = place_behind(entry.head, -1);
    ++entry.len;
    const int64_t place = place_behind(entry.head, index);
    add_insert(lists(), {Value::of(entry.key), Value::of_integer(place), Value::of(arguments_[4])}, OnDuplicate::fail);
    co_await go();
  }

  const bool behind_;
};

class Remove final : public ListWork {
 public:
  Remove(Call &call, OpenMap &open, int64_t count) : ListWork(call, open), count_(count) {}

 private:
  Task<> run() override {
    Entry entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong(entry, Type::list)) co_return;
    std::vector<int64_t> found;
    if (entry.live) {
      Search what{.element = arguments_[3], .from_end = count_ < 0};
      if (count_ != 0)
        what.wanted = count_ < 0 ? uint64_t{0} - static_cast<uint64_t>(count_) : static_cast<uint64_t>(count_);
      co_await search(entry, what, found);
    }
    if (!found.empty()) {
      std::sort(found.begin(), found.end());
      co_await remove(entry, found);
      co_await store(entry);
    }
    writer().integer(static_cast<int64_t>(found.size()));
  }

  /// Moves the elements of the shorter side to close the gaps.
  Task<> remove(Entry &entry, const std::vector<int64_t> &indexes) {
    const int64_t head = entry.head;
    const auto before = [&](Row row) {
      const int64_t index = integer_in(row[column::position]) - head;
      return std::lower_bound(indexes.begin(), indexes.end(), index) - indexes.begin();
    };
    EditBy erase([&](Row row, Draft &) {
      const auto at = static_cast<size_t>(before(row));
      const bool is_one = at < indexes.size() && indexes[at] == integer_in(row[column::position]) - head;
      return is_one ? Decision::erase : Decision::keep;
    });
    const auto count = static_cast<int64_t>(indexes.size());
    const auto first = static_cast<uint64_t>(indexes.front());
    const auto last = static_cast<uint64_t>(indexes.back());
    const auto length = static_cast<uint64_t>(entry.len);
    add_edit(lists(), stretch(entry, {first, last - first + 1}), erase, true);
    co_await go();
    const bool in_front = last < length - first;
    EditBy move([&](Row row, Draft &next) {
      const int64_t passed = before(row);
      const int64_t by = in_front ? count - passed : -passed;
      next.set(column::position, Value::of_integer(integer_in(row[column::position]) + by));
      return by == 0 ? Decision::keep : Decision::write;
    });
    const Places::Stretch side = in_front ? Places::Stretch{0, last} : Places::Stretch{first + 1, length - first - 1};
    if (side.count != 0) add_edit(lists(), stretch(entry, side, in_front), move);
    co_await go();
    entry.len -= count;
    if (in_front) entry.head = place_behind(entry.head, count);
  }

  const int64_t count_;
};

class Trim final : public ListWork {
 public:
  Trim(Call &call, OpenMap &open, const Places &places) : ListWork(call, open), places_(places) {}

 private:
  Task<> run() override {
    Entry entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong(entry, Type::list)) co_return;
    if (entry.live) {
      const auto length = static_cast<uint64_t>(entry.len);
      const Places::Stretch kept = places_.in(length);
      const uint64_t behind = kept.offset + kept.count;
      if (kept.count == 0) co_await clear(entry);
      else if (kept.count != length) co_await trim(entry, kept, length - behind);
    }
    writer().ok();
  }

  Task<> trim(Entry &entry, const Places::Stretch &kept, uint64_t behind) {
    if (kept.offset != 0) add_erase(lists(), stretch(entry, {0, kept.offset}));
    if (behind != 0) add_erase(lists(), stretch(entry, {kept.offset + kept.count, behind}));
    co_await go();
    entry.head = place_behind(entry.head, static_cast<int64_t>(kept.offset));
    entry.len = static_cast<int64_t>(kept.count);
    co_await store(entry);
  }

  const Places places_;
};

}  // namespace

namespace lower {

Next lset(Call &call) {
  int64_t index = 0;
  if (!parse_integer(call.arguments[2], index)) return refuse(call, not_an_integer);
  return begin_on<SetElement>(call, call.arguments[1], index);
}

Next linsert(Call &call) {
  const bool behind = is_word(call.arguments[2], "after");
  if (!behind && !is_word(call.arguments[2], "before")) return refuse(call, syntax_error);
  return begin_on<InsertBeside>(call, call.arguments[1], behind);
}

Next lrem(Call &call) {
  int64_t count = 0;
  if (!parse_integer(call.arguments[2], count)) return refuse(call, not_an_integer);
  return begin_on<Remove>(call, call.arguments[1], count);
}

Next ltrim(Call &call) {
  Places places;
  if (!parse_integer(call.arguments[2], places.first) || !parse_integer(call.arguments[3], places.last))
    return refuse(call, not_an_integer);
  return begin_on<Trim>(call, call.arguments[1], places);
}

}  // namespace lower
}  // namespace postern::redis
