#include <string>
#include <vector>

#include "redis/handlers.h"
#include "redis/list_work.h"
#include "redis/pops.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

/// LPUSH and its like.
class Push final : public ListWork {
 public:
  Push(Call &call, OpenMap &open, bool front, bool if_there) : ListWork(call, open), front_(front), there_(if_there) {}

 private:
  Task<> run() override {
    Entry entry;
    if (there_) entry = co_await lock(arguments_[1]);
    else entry = co_await make(arguments_[1], Type::list);
    if (there_ && !entry.live) {
      writer().integer(0);
      co_return;
    }
    if (entry.type != Type::list) {
      writer().error(wrong_type);
      co_return;
    }
    co_await push(entry, arguments_.subspan(2), front_);
    co_await store(entry);
    writer().integer(entry.len);
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
    Entry entry = co_await lock(arguments_[1]);
    if (is_wrong(entry, Type::list)) co_return;
    if (!entry.live) {
      one_ ? writer().nil() : writer().nil_array();
      co_return;
    }
    std::vector<std::string> taken;
    co_await pop(entry, count_, from_end_, taken);
    if (count_ != 0) co_await store(entry);
    Writer to = writer();
    if (!one_) to.array(taken.size());
    for (const std::string &element : taken) to.bulk(element);
    if (one_ && taken.empty()) to.nil();
  }

  const bool from_end_;
  const bool one_;
  const uint64_t count_;
};

/// LMPOP: from the first key that has elements.
class PopOfLists final : public ListWork {
 public:
  PopOfLists(Call &call, ManyKeysPop wanted) : ListWork(call, *wanted.open), wanted_(std::move(wanted)) {}

 private:
  Task<> run() override {
    for (const Source &source : wanted_.sources) {
      if (source.open == nullptr) continue;
      use(*source.open);
      Entry entry = co_await lock(source.key);
      if (is_wrong(entry, Type::list)) co_return;
      if (!entry.live) continue;
      std::vector<std::string> taken;
      co_await pop(entry, wanted_.count, wanted_.from_end, taken);
      co_await store(entry);
      Writer to = writer();
      to.array(2);
      to.bulk(source.key);
      to.array(taken.size());
      for (const std::string &element : taken) to.bulk(element);
      co_return;
    }
    writer().nil_array();
  }

  const ManyKeysPop wanted_;
};

/// LMOVE and RPOPLPUSH.
class Move final : public ListWork {
 public:
  Move(Call &call, OpenMap &open, bool from_end, bool to_front)
      : ListWork(call, open), from_end_(from_end), to_front_(to_front) {}

 private:
  Task<> run() override {
    Entry from;
    Entry to;
    co_await lock_both(arguments_[1], from, arguments_[2], to);
    if (is_wrong(from, Type::list)) co_return;
    if (!from.live) {
      writer().nil();
      co_return;
    }
    if (is_wrong(to, Type::list)) co_return;
    std::vector<std::string> taken;
    co_await pop(from, 1, from_end_, taken);
    if (taken.empty()) {  // SQL has taken it, and not said so
      writer().nil();
      co_return;
    }
    const Bytes element = taken.front();
    const std::span<const Bytes> moved(&element, 1);
    if (from.key == to.key) {
      co_await push(from, moved, to_front_);
      co_await store(from);
    } else {
      co_await store(from);
      if (!to.live) to = co_await make(arguments_[2], Type::list);
      co_await push(to, moved, to_front_);
      co_await store(to);
    }
    writer().bulk(element);
  }

  const bool from_end_;
  const bool to_front_;
};

Next push_to(Call &call, bool front, bool if_there) {
  return begin_on<Push>(call, call.arguments[1], front, if_there);
}

Next pop_from(Call &call, bool from_end) {
  bool one = true;
  uint64_t count = 1;
  if (!read_pop_count(call, one, count)) return Next::go_on;
  return begin_on<PopOfList>(call, call.arguments[1], from_end, one, count);
}

Next move_between(Call &call, bool from_end, bool to_front) {
  OpenMap *open = nullptr;
  if (!may_write_both(call, call.arguments[1], call.arguments[2], open)) return Next::go_on;
  return begin_work(call, call.session.tables().keep<Move>(call, *open, from_end, to_front));
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
  if (!read_many_keys_pop(call, "left", "right", wanted)) return Next::go_on;
  if (wanted.open != nullptr) return begin_work(call, call.session.tables().keep<PopOfLists>(call, std::move(wanted)));
  answer(call, [](Writer &writer) { writer.nil_array(); });
  return Next::go_on;
}

Next rpoplpush(Call &call) {
  return move_between(call, true, true);
}

Next lmove(Call &call) {
  const Bytes from = call.arguments[3];
  const Bytes to = call.arguments[4];
  if ((!is_word(from, "left") && !is_word(from, "right")) || (!is_word(to, "left") && !is_word(to, "right")))
    return refuse(call, syntax_error);
  return move_between(call, is_word(from, "right"), is_word(to, "left"));
}

}  // namespace lower
}  // namespace postern::redis
