#include <vector>

#include "redis/collections/blocking.h"
#include "redis/collections/pops.h"
#include "redis/collections/scores.h"
#include "redis/registry/handlers.h"

namespace postern::redis {
namespace {

class PopWork : public CollectionWork {
 public:
  PopWork(Call &call, OpenMap &open, bool highest, uint64_t count)
      : CollectionWork(call, open), highest_(highest), count_(count) {}

 protected:
  /// Adds the op that takes the elements out.
  StepReply &add_take_of(RowKey key) {
    Find find{.comparison = highest_ ? Comparison::at_most : Comparison::at_least, .limit = count_};
    find.key = find.until = values({Value::of(key.text)});
    return add_take(elements(Elements::zsets_by_score), find);
  }
  /// Takes the elements out of an existing key.
  Task<> pop(RowKey key, Entry &entry, std::vector<Cells> &rows) {
    StepReply &taken = add_take_of(key);
    co_await go();
    rows = std::move(taken.rows);
    entry.len -= static_cast<int64_t>(rows.size());
    if (!rows.empty()) co_await store(entry);
  }
  static void tell_element(Writer &to, const Cells &row) {
    to.bulk(row[column::member].text);
    to.number(score_in(Bytes(row[column::score].text)));
  }
  uint64_t count() const { return count_; }

 private:
  const bool highest_;
  const uint64_t count_;
};

/// ZPOPMIN and ZPOPMAX.
class Pop final : public PopWork {
 public:
  Pop(Call &call, OpenMap &open, bool highest, bool one, uint64_t wanted)
      : PopWork(call, open, highest, wanted), one_(one) {
    set_ends_at_once();
  }

 private:
  Task<> run() override {
    const RowKey key = row_key(arguments_[1]);
    Entry entry;
    StepReply *taken = nullptr;
    const auto take = [&] { taken = count() == 0 ? nullptr : &add_take_of(key); };
    const auto counted = [&] {
      if (taken != nullptr) entry.len -= static_cast<int64_t>(taken->rows.size());
      return taken != nullptr && !taken->rows.empty();
    };
    const bool done = co_await change_elements(key, Type::zset, entry, Doing(take), Doing(counted));
    if (!done) co_return;
    std::vector<Cells> rows;
    if (entry.live && taken != nullptr) rows = std::move(taken->rows);
    tell(rows);
  }

  void tell(const std::vector<Cells> &rows) {
    Writer to = writer();
    const bool nested = !one_ && to.three();
    to.array(nested ? rows.size() : 2 * rows.size());
    for (const Cells &row : rows) {
      if (nested) to.array(2);
      tell_element(to, row);
    }
  }

  const bool one_;
};

/// ZMPOP and BZMPOP, BZPOPMIN and BZPOPMAX: from the first key that has elements.
class PopOfMany final : public Trying<PopWork> {
 public:
  PopOfMany(Call &call, ManyKeysPop wanted, bool one, Attempt *attempt)
      : Trying(attempt, call, *wanted.open, wanted.from_end, wanted.count),
        sources_(std::move(wanted.sources)),
        one_(one) {}

 private:
  Task<> run() override {
    begin_try();
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Source &source = sources_[i];
      if (source.open == nullptr || !may_take(i)) continue;
      use(*source.open);
      const RowKey key = row_key(source.key);
      Entry entry = co_await lock(key);
      if (is_repeated() && entry.type != Type::zset) continue;
      if (is_wrong(entry, Type::zset)) co_return;
      if (!entry.live) continue;
      std::vector<Cells> rows;
      co_await pop(key, entry, rows);
      if (one_ && rows.empty()) continue;  // SQL has deleted it without updating the key's row
      tell(source.key, rows);
      co_return;
    }
    if (!waits()) writer().nil_array();
  }

  void tell(Bytes key, const std::vector<Cells> &rows) {
    Writer to = writer();
    to.array(one_ ? 3 : 2);
    to.bulk(key);
    if (one_) return tell_element(to, rows.front());
    to.array(rows.size());
    for (const Cells &row : rows) {
      to.array(2);
      tell_element(to, row);
    }
  }

  const std::vector<Source> sources_;
  const bool one_;
};

Next try_zmpop(Call &call, Attempt *attempt) {
  ManyKeysPop wanted;
  if (!read_many_keys_pop(call, 2, "min", "max", wanted)) return Next::go_on;
  return pop_of_first<PopOfMany>(call, std::move(wanted), false, attempt);
}

Next pop_of(Call &call, bool highest) {
  bool one = true;
  uint64_t count = 1;
  if (call.arguments.size() > 3) return refuse(call, syntax_error);
  if (!read_pop_count(call, one, count)) return Next::go_on;
  return begin_on<Pop>(call, call.arguments[1], highest, one, count);
}

}  // namespace

namespace lower {

Next zpopmin(Call &call) {
  return pop_of(call, false);
}

Next zpopmax(Call &call) {
  return pop_of(call, true);
}

Next zmpop(Call &call) {
  ManyKeysPop wanted;
  if (!read_many_keys_pop(call, 1, "min", "max", wanted)) return Next::go_on;
  return pop_of_first<PopOfMany>(call, std::move(wanted), false, nullptr);
}

Next bzpopmin(Call &call) {
  return wait_and_pop(call, Type::zset, try_pop_of_keys<PopOfMany, false>);
}

Next bzpopmax(Call &call) {
  return wait_and_pop(call, Type::zset, try_pop_of_keys<PopOfMany, true>);
}

Next bzmpop(Call &call) {
  return wait_and_pop_many(call, "min", "max", Type::zset, try_zmpop);
}

}  // namespace lower
}  // namespace postern::redis
