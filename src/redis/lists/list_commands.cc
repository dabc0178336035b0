#include <string>
#include <vector>

#include "redis/collections/blocking.h"
#include "redis/collections/pops.h"
#include "redis/lists/list_work.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

/// The ends between which an element moves.
struct Ends {
  bool from_end = false;
  bool to_front = false;
};

/// LPUSH, RPUSH and variants.
class Push final : public ListWork {
 public:
  Push(Call &call, OpenMap &open, bool front, bool if_there) : ListWork(call, open), front_(front), there_(if_there) {
    if (!there_) set_ends_at_once();
  }

 private:
  Task<> run() override {
    Entry entry;
    bool done = false;
    if (there_) done = co_await push_if_there(entry);
    else done = co_await push_at_once(row_key(arguments_[1]), entry, arguments_.subspan(2), front_);
    if (done) writer().integer(entry.len);
  }

  /// False: the error was answered.
  Task<bool> push_if_there(Entry &entry) {
    entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong(entry, Type::list)) co_return false;
    if (!entry.live) co_return true;
    co_await push(entry, arguments_.subspan(2), front_);
    co_await store(entry);
    co_return true;
  }

  const bool front_;
  const bool there_;
};

class PopOfList final : public ListWork {
 public:
  PopOfList(Call &call, OpenMap &open, bool from_end, bool one, uint64_t count)
      : ListWork(call, open), from_end_(from_end), one_(one), count_(count) {}

 private:
  Task<> run() override {
    Entry entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong(entry, Type::list)) co_return;
    if (!entry.live) {
      one_ ? writer().nil() : writer().nil_array();
      co_return;
    }
    std::vector<std::string> taken;
    co_await pop(entry, count_, from_end_, taken, Storing::at_once);
    Writer to = writer();
    if (!one_) to.array(taken.size());
    for (const std::string &element : taken) to.bulk(element);
    if (one_ && taken.empty()) to.nil();
  }

  const bool from_end_;
  const bool one_;
  const uint64_t count_;
};

/// LMPOP and BLMPOP, BLPOP and BRPOP: from the first key that has elements.
class PopOfLists final : public Trying<ListWork> {
 public:
  PopOfLists(Call &call, ManyKeysPop wanted, bool one, Attempt *attempt)
      : Trying(attempt, call, *wanted.open), wanted_(std::move(wanted)), one_(one) {}

 private:
  Task<> run() override {
    begin_try();
    for (size_t i = 0; i < wanted_.sources.size(); ++i) {
      const Source &source = wanted_.sources[i];
      if (source.open == nullptr || !may_take(i)) continue;
      use(*source.open);
      Entry entry = co_await lock(row_key(source.key));
      if (is_repeated() && entry.type != Type::list) continue;
      if (is_wrong(entry, Type::list)) co_return;
      if (!entry.live) continue;
      std::vector<std::string> taken;
      co_await pop(entry, wanted_.count, wanted_.from_end, taken, Storing::at_once);
      if (one_ && taken.empty()) continue;  // SQL has deleted it without updating the key
      Writer to = writer();
      to.array(2);
      to.bulk(source.key);
      if (!one_) to.array(taken.size());
      for (const std::string &element : taken) to.bulk(element);
      co_return;
    }
    if (!waits()) writer().nil_array();
  }

  const ManyKeysPop wanted_;
  const bool one_;
};

/// LMOVE and RPOPLPUSH, BLMOVE and BRPOPLPUSH.
class Move final : public Trying<ListWork> {
 public:
  Move(Call &call, OpenMap &open, const Ends &ends, Attempt *attempt)
      : Trying(attempt, call, open),
        from_end_(ends.from_end),
        to_front_(ends.to_front),
        fed_(call.session.fed()),
        database_(call.session.client().database()) {}

 private:
  Task<> run() override {
    begin_try();
    Entry from;
    Entry to;
    co_await lock_both(arguments_[1], from, arguments_[2], to);
    if (from.live && is_repeated() && from.type != Type::list) from.live = false;
    if (is_wrong(from, Type::list)) co_return;
    if (from.live && is_wrong(to, Type::list)) co_return;
    std::vector<std::string> taken;
    if (from.live) co_await pop(from, 1, from_end_, taken);
    if (taken.empty()) {  // or SQL has deleted it without updating the key's row
      if (!waits()) writer().nil();
      co_return;
    }
    fed_.note(database_, arguments_[2]);
    const Bytes element = taken.front();
    const std::span<const Bytes> moved(&element, 1);
    if (from.key == to.key) {
      co_await push(from, moved, to_front_);
      co_await store(from);
    } else {
      co_await store(from);
      if (!to.live) to = co_await make(row_key(arguments_[2]), Type::list);
      co_await push(to, moved, to_front_);
      co_await store(to);
    }
    writer().bulk(element);
  }

  const bool from_end_;
  const bool to_front_;
  FedKeys &fed_;
  const uint8_t database_;
};

Next push_to(Call &call, bool front, bool if_there) {
  note_fed(call, call.arguments[1]);
  return begin_on<Push>(call, call.arguments[1], front, if_there);
}

Next pop_from(Call &call, bool from_end) {
  bool one = true;
  uint64_t count = 1;
  if (!read_pop_count(call, one, count)) return Next::go_on;
  return begin_on<PopOfList>(call, call.arguments[1], from_end, one, count);
}

Next try_lmpop(Call &call, Attempt *attempt) {
  ManyKeysPop wanted;
  if (!read_many_keys_pop(call, 2, "left", "right", wanted)) return Next::go_on;
  return pop_of_first<PopOfLists>(call, std::move(wanted), false, attempt);
}

Next move_between(Call &call, const Ends &ends, Attempt *attempt) {
  OpenMap *open = nullptr;
  if (!may_write_both(call, call.arguments[1], call.arguments[2], open)) return Next::go_on;
  return begin_work(call, call.session.tables().keep<Move>(call, *open, ends, attempt));
}

/// `source destination LEFT|RIGHT LEFT|RIGHT`. Returns false after answering an error.
bool read_ends(Call &call, Ends &ends) {
  const Bytes from = call.arguments[3];
  const Bytes to = call.arguments[4];
  ends = {.from_end = is_word(from, "right"), .to_front = is_word(to, "left")};
  if ((ends.from_end || is_word(from, "left")) && (ends.to_front || is_word(to, "right"))) return true;
  refuse(call, syntax_error);
  return false;
}

constexpr Ends last_to_front{.from_end = true, .to_front = true};

Next try_rpoplpush(Call &call, Attempt *attempt) {
  return move_between(call, last_to_front, attempt);
}

Next try_lmove(Call &call, Attempt *attempt) {
  Ends ends;
  return read_ends(call, ends) ? move_between(call, ends, attempt) : Next::go_on;
}

Next wait_and_move(Call &call, Try attempt) {
  return wait_for_elements(
      call,
      {.type = Type::list, .keys = call.arguments.subspan(1, 1), .timeout = call.arguments.back(), .attempt = attempt});
}

}  // namespace

namespace lower {

Next lpush(Call &call) {
  return push_to(call, true, false);
}

Next rpush(Call &call) {
  return push_to(call, false, false);
}

Next lpushx(Call &call) {
  return push_to(call, true, true);
}

Next rpushx(Call &call) {
  return push_to(call, false, true);
}

Next lpop(Call &call) {
  return pop_from(call, false);
}

Next rpop(Call &call) {
  return pop_from(call, true);
}

Next lmpop(Call &call) {
  ManyKeysPop wanted;
  if (!read_many_keys_pop(call, 1, "left", "right", wanted)) return Next::go_on;
  return pop_of_first<PopOfLists>(call, std::move(wanted), false, nullptr);
}

Next rpoplpush(Call &call) {
  return move_between(call, last_to_front, nullptr);
}

Next lmove(Call &call) {
  return try_lmove(call, nullptr);
}

Next blpop(Call &call) {
  return wait_and_pop(call, Type::list, try_pop_of_keys<PopOfLists, false>);
}

Next brpop(Call &call) {
  return wait_and_pop(call, Type::list, try_pop_of_keys<PopOfLists, true>);
}

Next blmpop(Call &call) {
  return wait_and_pop_many(call, "left", "right", Type::list, try_lmpop);
}

Next brpoplpush(Call &call) {
  return wait_and_move(call, try_rpoplpush);
}

Next blmove(Call &call) {
  Ends ends;
  return read_ends(call, ends) ? wait_and_move(call, try_lmove) : Next::go_on;
}

}  // namespace lower
}  // namespace postern::redis
