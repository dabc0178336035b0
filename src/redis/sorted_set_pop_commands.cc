#include <vector>

#include "redis/handlers.h"
#include "redis/pops.h"
#include "redis/scores.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

class PopWork : public CollectionWork {
 public:
  PopWork(Call &call, OpenMap &open, bool highest, uint64_t count)
      : CollectionWork(call, open), highest_(highest), count_(count) {}

 protected:
  /// Takes the elements out of a key that is there.
  Task<> pop(Entry &entry, std::vector<Cells> &rows) {
    Find find{.comparison = highest_ ? Comparison::at_most : Comparison::at_least, .limit = count_};
    find.key = find.until = key_of(entry);
    StepReply &taken = add_take(elements(Elements::zsets_by_score), find);
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
      : PopWork(call, open, highest, wanted), one_(one) {}

 private:
  Task<> run() override {
    Entry entry = co_await lock(arguments_[1]);
    if (is_wrong(entry, Type::zset)) co_return;
    std::vector<Cells> rows;
    if (entry.live && count() != 0) co_await pop(entry, rows);
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

/// ZMPOP: of the first key that has elements.
class PopOfMany final : public PopWork {
 public:
  PopOfMany(Call &call, ManyKeysPop wanted)
      : PopWork(call, *wanted.open, wanted.from_end, wanted.count), sources_(std::move(wanted.sources)) {}

 private:
  Task<> run() override {
    for (const Source &source : sources_) {
      if (source.open == nullptr) continue;
      use(*source.open);
      Entry entry = co_await lock(source.key);
      if (is_wrong(entry, Type::zset)) co_return;
      if (!entry.live) continue;
      std::vector<Cells> rows;
      co_await pop(entry, rows);
      Writer to = writer();
      to.array(2);
      to.bulk(source.key);
      to.array(rows.size());
      for (const Cells &row : rows) {
        to.array(2);
        tell_element(to, row);
      }
      co_return;
    }
    writer().nil_array();
  }

  const std::vector<Source> sources_;
};

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
  if (!read_many_keys_pop(call, "min", "max", wanted)) return Next::go_on;
  if (wanted.open != nullptr) return begin_work(call, call.session.tables().keep<PopOfMany>(call, std::move(wanted)));
  answer(call, [](Writer &writer) { writer.nil_array(); });
  return Next::go_on;
}

}  // namespace lower
}  // namespace postern::redis
