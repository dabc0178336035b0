#include "memcached/lower.h"

#include <time.h>

#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <new>

#include "base/limits.h"
#include "base/log.h"
#include "memcached/edits.h"
#include "memcached/expiry.h"
#include "memcached/form.h"

namespace postern::memcached {
namespace {

/// Larger with every call, in this process and, as long as the clock goes forward, in those after it: a CAS never
/// comes back, not even for an item that was deleted and made again.
uint64_t next_cas() {
  static std::atomic<uint64_t> last{0};
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t now_us = static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1'000;
  uint64_t before = last.load(std::memory_order_relaxed);
  uint64_t cas = 0;
  do {
    cas = before < now_us ? now_us : before + 1;
  } while (!last.compare_exchange_weak(before, cas, std::memory_order_relaxed));
  return cas;
}

/// What all replies have in common: where they go, and how they are taken back.
class Answer : public Reply {
 public:
  Answer(const Request &request, const Surroundings &with)
      : request_(request), output_(with.output), statistics_(with.statistics) {}

  Flow row(Row) override { return Flow::more; }
  void restart() override {
    if (begun_) output_.take_back(start_);
    begun_ = false;
  }

 protected:
  const Form &form() const { return form_of(request_.dialect); }
  void begin() {
    start_ = output_.mark();
    begun_ = true;
  }
  void count(Statistic statistic) { statistics_.add(statistic); }

  const Request &request_;
  Output &output_;
  Statistics &statistics_;
  Output::Mark start_ = 0;
  bool begun_ = false;

  ~Answer() = default;
};

class PlainAnswer final : public Answer {
 public:
  PlainAnswer(const Request &request, Bytes value, const Group *group, const Surroundings &with)
      : Answer(request, with), value_(value), group_(group) {}
  void done(const Outcome &outcome) override {
    if (group_ != nullptr && group_->failed) return;
    begin();
    if (outcome.failure != Failure::none) form().failed(output_, request_, outcome.failure, outcome.message);
    else form().plain(output_, request_, value_);
  }

 private:
  const Bytes value_;
  const Group *const group_;
};

/// Why an op on a container failed: if that is not open, for the reason why it could not be opened.
struct Reason {
  Failure failure;
  Bytes message;
};
Reason reason_of(const Outcome &outcome, const OpenContainer *target) {
  if (outcome.failure == Failure::not_open && target != nullptr && target->failure != Failure::none)
    return {target->failure, target->message};
  return {outcome.failure, outcome.message};
}

/// An answer that may be one of several keys of a `get`.
class KeyAnswer : public Answer {
 public:
  KeyAnswer(const Request &request, const OpenContainer *target, Group *group, const Surroundings &with)
      : Answer(request, with), target_(target), group_(group) {}

  void restart() override {
    Answer::restart();
    if (failed_here_) group_->failed = false;
    failed_here_ = false;
  }

 protected:
  bool silent() const { return group_ != nullptr && group_->failed; }
  void fail(const Reason &why) {
    if (silent()) return;
    if (group_ != nullptr) group_->failed = failed_here_ = true;
    begin();
    form().failed(output_, request_, why.failure, why.message);
  }
  void tell(Result result, uint64_t cas = 0) {
    if (silent()) return;
    begin();
    form().result(output_, request_, result, cas);
  }

  ~KeyAnswer() = default;

  const OpenContainer *const target_;

 private:
  Group *const group_;
  bool failed_here_ = false;
};

class FailedAnswer final : public KeyAnswer {
 public:
  FailedAnswer(const Request &request, Bytes message, Group *group, const Surroundings &with)
      : KeyAnswer(request, nullptr, group, with), message_(message) {}
  void done(const Outcome &outcome) override {
    fail({outcome.failure, outcome.failure == Failure::unauthorized ? outcome.message : message_});
  }

 private:
  const Bytes message_;
};

/// The value columns of a row, joined if there are several.
class JoinedValue {
 public:
  JoinedValue(const Container &container, Row row) {
    const Row values = row.subspan(container.first_value_column(), container.value_columns());
    if (values.size() == 1 && values[0].kind() == Value::Kind::bytes) {
      bytes_ = values[0].bytes();
      return;
    }
    size_t size = container.separator().size() * (values.size() - 1);
    for (const Value &value : values) size += value.kind() == Value::Kind::bytes ? value.bytes().size() : number_bytes;
    char *to = near_.data();
    if (size > near_.size()) {
      far_.reset(new (std::nothrow) char[size]);
      to = far_.get();
    }
    char *const begin = to;
    good_ = to != nullptr;
    for (size_t i = 0; good_ && i < values.size(); ++i) {
      if (i != 0) to = put(to, container.separator());
      to = put(to, values[i]);
    }
    bytes_ = {begin, static_cast<size_t>(to - begin)};
  }

  /// False: there is no memory for it.
  bool good() const { return good_; }
  Bytes bytes() const { return bytes_; }

 private:
  static constexpr size_t number_bytes = 20;

  static char *put(char *to, Bytes bytes) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    return to + bytes.size();
  }
  static char *put(char *to, const Value &value) {
    switch (value.kind()) {
      case Value::Kind::null: return to;
      case Value::Kind::bytes: return put(to, value.bytes());
      case Value::Kind::integer: return print_integer(to, value.integer());
      case Value::Kind::natural: return print_natural(to, value.natural());
    }
    return to;
  }

  std::array<char, 1'024> near_;
  std::unique_ptr<char[]> far_;
  Bytes bytes_;
  bool good_ = true;
};

/// Tells an item as its row has it.
class ItemAnswer : public KeyAnswer {
 public:
  ItemAnswer(const Request &request, OpenContainer &target, Group *group, const Surroundings &with)
      : KeyAnswer(request, &target, group, with), now_(with.now) {}

  void restart() override {
    KeyAnswer::restart();
    told_ = false;
    lost_ = Failure::none;
  }

 protected:
  const Container &container() const { return *target_->container; }

  Flow tell(Row row, const ItemState &state) {
    if (silent()) return Flow::more;
    const JoinedValue value(container(), row);
    if (!value.good() || value.bytes().size() > limits::row_bytes_max) {
      lost_ = value.good() ? Failure::row_too_large : Failure::out_of_memory;
      return Flow::more;
    }
    const bool streaming = output_.streaming();
    const size_t bytes = value.bytes().size() + request_.key.size();
    if (!streaming && output_.flow(output_.mark(), bytes) == Flow::pause) return Flow::pause;
    begin();
    form().item(
        output_, request_,
        {.value = value.bytes(), .flags = state.flags, .cas = state.cas, .expires_at = state.expires_at, .now = now_});
    told_ = true;
    return streaming ? output_.flow(start_) : Flow::more;
  }
  /// True if the op failed, which is told.
  bool failed(const Outcome &outcome) {
    const bool ours = outcome.failure == Failure::none;
    if (ours && lost_ == Failure::none) return false;
    if (begun_ && !output_.take_back(start_)) return true;
    fail(ours ? Reason{lost_, {}} : reason_of(outcome, target_));
    return true;
  }

  ~ItemAnswer() = default;

  const int64_t now_;
  bool told_ = false;
  Failure lost_ = Failure::none;  // why the row could not be told
};

class GetAnswer final : public ItemAnswer {
 public:
  GetAnswer(const Request &request, Bytes key, OpenContainer &target, Group *group, const Surroundings &with)
      : ItemAnswer(request, target, group, with), key_(key), open_(target) {}

  Flow row(Row row) override {
    const ItemState state = state_of(container(), row);
    expired_ = is_expired(state.expires_at, now_);
    return expired_ ? Flow::more : tell(row, state);
  }
  Flow look(uint32_t) override { return output_.look(); }
  void done(const Outcome &outcome) override {
    count(Statistic::cmd_get);
    if (failed(outcome)) return;
    count(told_ ? Statistic::get_hits : Statistic::get_misses);
    if (expired_) note_expired();
    if (!told_) KeyAnswer::tell(Result::not_found);
  }
  void restart() override {
    ItemAnswer::restart();
    expired_ = false;
  }

 private:
  void note_expired() {
    count(Statistic::get_expired);
    if (open_.may_erase && open_.expired.size() < OpenContainer::expired_max) open_.expired.emplace_back(key_);
  }

  const Bytes key_;
  OpenContainer &open_;
  bool expired_ = false;
};

/// Touch of an item in a container that keeps no expiry: whether it is there.
class PresenceAnswer final : public KeyAnswer {
 public:
  PresenceAnswer(const Request &request, OpenContainer &target, const Surroundings &with)
      : KeyAnswer(request, &target, nullptr, with) {}
  void done(const Outcome &outcome) override {
    count(Statistic::cmd_touch);
    if (outcome.failure != Failure::none) return fail(reason_of(outcome, target_));
    count(outcome.rows != 0 ? Statistic::touch_hits : Statistic::touch_misses);
    tell(outcome.rows != 0 ? Result::done : Result::not_found);
  }
};

/// Get and touch.
class GetAndTouchAnswer final : public ItemAnswer {
 public:
  GetAndTouchAnswer(const Request &request, ItemEdit &edit, OpenContainer &target, Group *group,
                    const Surroundings &with)
      : ItemAnswer(request, target, group, with), edit_(edit) {}

  Flow row(Row row) override { return tell(row, edit_.seen().state); }
  void done(const Outcome &outcome) override {
    count(Statistic::cmd_get);
    count(Statistic::cmd_touch);
    if (failed(outcome)) return;
    count(told_ ? Statistic::get_hits : Statistic::get_misses);
    count(told_ ? Statistic::touch_hits : Statistic::touch_misses);
    if (edit_.seen().expired) count(Statistic::get_expired);
    if (!told_) KeyAnswer::tell(Result::not_found);
  }
  void restart() override {
    ItemAnswer::restart();
    edit_.forget();
  }

 private:
  ItemEdit &edit_;
};

/// Everything that writes and has no item to tell.
class WriteAnswer final : public KeyAnswer {
 public:
  WriteAnswer(const Request &request, ItemEdit &edit, bool inserts, uint64_t new_cas, OpenContainer &target,
              const Surroundings &with)
      : KeyAnswer(request, &target, nullptr, with), edit_(edit), new_cas_(new_cas), now_(with.now), inserts_(inserts) {}

  void done(const Outcome &outcome) override {
    const Seen &seen = edit_.seen();
    const bool made = inserts_ && outcome.changed != 0 && !seen.found;
    count_command();
    if (outcome.failure != Failure::none) return fail(reason_of(outcome, target_));
    switch (request_.action) {
      case Action::set: return done_set(seen);
      case Action::add: return made ? tell(Result::done, new_cas_) : tell(Result::not_stored);
      case Action::replace:
      case Action::append:
      case Action::prepend:
        if (seen.other_cas) return tell(Result::exists);
        return made || seen.found ? tell(Result::done, new_cas_) : tell(Result::not_stored);
      case Action::increment:
      case Action::decrement: return done_count(made, seen);
      case Action::touch:
        count(seen.found ? Statistic::touch_hits : Statistic::touch_misses);
        return seen.found ? tell(Result::done, seen.state.cas) : tell(Result::not_found);
      default:  // erase
        if (seen.other_cas) return tell(Result::exists);
        count(seen.found ? Statistic::delete_hits : Statistic::delete_misses);
        return tell(seen.found ? Result::done : Result::not_found);
    }
  }
  void restart() override {
    KeyAnswer::restart();
    edit_.forget();
  }

 private:
  void count_command() {
    switch (request_.action) {
      case Action::set:
      case Action::add:
      case Action::replace:
      case Action::append:
      case Action::prepend: return count(Statistic::cmd_set);
      case Action::touch: return count(Statistic::cmd_touch);
      default: return;
    }
  }
  void done_set(const Seen &seen) {
    // A row that had just these values already counts as not changed.
    if (inserts_) return tell(Result::done, new_cas_);
    count(seen.found ? Statistic::cas_hits : seen.other_cas ? Statistic::cas_badval : Statistic::cas_misses);
    if (seen.found) return tell(Result::done, new_cas_);
    tell(seen.other_cas ? Result::exists : Result::not_found);
  }
  void done_count(bool made, const Seen &seen) {
    const bool up = request_.action == Action::increment;
    if (seen.other_cas) return tell(Result::exists);
    if (seen.no_number) return tell(Result::not_a_number);
    if (made || !seen.found) count(up ? Statistic::incr_misses : Statistic::decr_misses);
    else count(up ? Statistic::incr_hits : Statistic::decr_hits);
    if (!made && !seen.found) return tell(Result::not_found);
    begin();
    Item item{
        .value = {}, .flags = seen.state.flags, .cas = new_cas_, .expires_at = seen.state.expires_at, .now = now_};
    if (made) {
      item.flags = 0;
      item.expires_at = target_->container->keeps_expiry() ? expires_at(request_.expiry, now_) : 0;
    }
    form().number(output_, request_, made ? request_.initial : seen.number, item);
  }

  ItemEdit &edit_;
  const uint64_t new_cas_;
  const int64_t now_;
  const bool inserts_;
};

/// Carries a command out in memory, when its turn among the ops has come, and once: what was changed stays so even if
/// the transaction of the ops around it is lost and they are run again.
class MemoryAnswer final : public KeyAnswer, private Cache::Reader {
 public:
  MemoryAnswer(const Request &request, const Request &keyed, OpenContainer &target, Cache &cache, Group *group,
               const Surroundings &with)
      : KeyAnswer(request, &target, group, with), keyed_(keyed), cache_(cache), now_(with.now) {}

  void done(const Outcome &outcome) override {
    if (outcome.failure != Failure::none) return fail({outcome.failure, outcome.message});
    const bool gets = request_.action == Action::get;
    if (gets && silent()) return;
    // An answer cannot be put off until the client has read what came before it.
    if (gets && output_.pending_bytes() > limits::edit_reply_bytes_max) return fail({Failure::reply_too_large, {}});
    if (gets || !carried_out_) {
      heard_ = false;
      came_to_ = cache_.carry_out(*target_->space, keyed_, next_cas(), now_, *this);
      carried_out_ = true;
      count_all();
    }
    if (came_to_.failure != Failure::none) return fail({came_to_.failure, {}});
    if (gets && heard_) return;
    if (!heard_) return tell(came_to_.result, came_to_.cas);
    begin();
    form().number(output_, request_, number_, item_);
  }

 private:
  void item(const Item &item) override {
    heard_ = true;
    begin();
    form().item(output_, request_, item);
  }
  void number(uint64_t number, const Item &item) override {
    heard_ = true;
    number_ = number;
    item_ = item;
    item_.value = {};
  }
  void count_all() {
    const bool hit = came_to_.failure == Failure::none && came_to_.result == Result::done;
    const bool compares = request_.compares || request_.cas != 0;
    switch (request_.action) {
      case Action::get:
        count(Statistic::cmd_get);
        count(hit ? Statistic::get_hits : Statistic::get_misses);
        if (!request_.touches) return;
        [[fallthrough]];
      case Action::touch:
        count(Statistic::cmd_touch);
        return count(hit ? Statistic::touch_hits : Statistic::touch_misses);
      case Action::set:
        count(Statistic::cmd_set);
        if (!compares) return;
        return count(hit                                 ? Statistic::cas_hits
                     : came_to_.result == Result::exists ? Statistic::cas_badval
                                                         : Statistic::cas_misses);
      case Action::add:
      case Action::replace:
      case Action::append:
      case Action::prepend: return count(Statistic::cmd_set);
      case Action::increment: return count(hit ? Statistic::incr_hits : Statistic::incr_misses);
      case Action::decrement: return count(hit ? Statistic::decr_hits : Statistic::decr_misses);
      case Action::erase: return count(hit ? Statistic::delete_hits : Statistic::delete_misses);
      default: return count(Statistic::cmd_flush);
    }
  }

  const Request &keyed_;  // with the key as it is without the container's name
  Cache &cache_;
  const int64_t now_;
  Cache::Outcome came_to_;
  uint64_t number_ = 0;
  Item item_;
  bool carried_out_ = false;
  bool heard_ = false;
};

class FlushAnswer final : public KeyAnswer {
 public:
  FlushAnswer(const Request &request, OpenContainer &target, const Surroundings &with)
      : KeyAnswer(request, &target, nullptr, with) {}
  void done(const Outcome &outcome) override {
    count(Statistic::cmd_flush);
    if (outcome.failure != Failure::none) return fail(reason_of(outcome, target_));
    tell(Result::done);
  }
};

class PlaceAnswer final : public KeyAnswer {
 public:
  PlaceAnswer(const Request &request, OpenContainer &target, Group *group, const Surroundings &with)
      : KeyAnswer(request, &target, group, with) {}
  void done(const Outcome &outcome) override {
    if (outcome.failure != Failure::none) return fail(reason_of(outcome, target_));
    if (silent()) return;
    begin();
    form().item(output_, request_, {.value = target_->container->place()});
  }
};

class DisabledAnswer final : public KeyAnswer {
 public:
  DisabledAnswer(const Request &request, Group *group, const Surroundings &with)
      : KeyAnswer(request, nullptr, group, with) {}
  void done(const Outcome &outcome) override {
    if (outcome.failure != Failure::none) return fail({outcome.failure, outcome.message});
    if (request_.action == Action::get) {
      count(Statistic::cmd_get);
      count(Statistic::get_misses);
      return tell(Result::not_found);
    }
    if (request_.action != Action::increment && request_.action != Action::decrement) return tell(Result::done);
    begin();
    form().number(output_, request_, 0, {});
  }
};

/// Whether what went wrong is the mapping's fault, which an administrator must know.
bool is_mapping_wrong(Failure failure) {
  switch (failure) {
    case Failure::no_table:
    case Failure::cannot_open:
    case Failure::not_a_base_table:
    case Failure::system_schema:
    case Failure::engine_unsupported:
    case Failure::no_index:
    case Failure::index_unusable:
    case Failure::index_not_the_key:
    case Failure::no_column:
    case Failure::too_many_columns: return true;
    default: return false;
  }
}

class OpenAnswer final : public Reply {
 public:
  explicit OpenAnswer(OpenContainer &target) : target_(target) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    target_.failure = outcome.failure;
    if (outcome.failure == Failure::none) return;
    const Container &container = *target_.container;
    target_.message = "container '" + container.name() + "' (" + container.place() + "): ";
    target_.message += outcome.message.empty() ? failure_text(outcome.failure) : outcome.message;
    if (is_mapping_wrong(outcome.failure) && container.tell_once())
      log::error("memcached: %s", target_.message.c_str());
  }
  void restart() override {
    target_.failure = Failure::none;
    target_.message.clear();
  }

 private:
  OpenContainer &target_;
};

class ErasedAnswer final : public Reply {
 public:
  ErasedAnswer(OpenContainer &target, Statistics &statistics) : target_(target), statistics_(statistics) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    if (outcome.failure != Failure::none) target_.may_erase = false;
    else if (outcome.changed != 0) statistics_.add(Statistic::expired_erased);
  }
  void restart() override {}

 private:
  OpenContainer &target_;
  Statistics &statistics_;
};

class LoginAnswer final : public Answer {
 public:
  using Answer::Answer;
  void done(const Outcome &outcome) override {
    count(Statistic::auth_cmds);
    begin();
    if (outcome.failure == Failure::none) return form().plain(output_, request_, {});
    count(Statistic::auth_errors);
    form().failed(output_, request_, outcome.failure, outcome.message);
  }
};

class StatisticsAnswer final : public Answer {
 public:
  StatisticsAnswer(const Request &request, const Teller &teller, const Surroundings &with)
      : Answer(request, with), teller_(teller) {}
  void done(const Outcome &outcome) override {
    begin();
    if (outcome.failure != Failure::none) form().failed(output_, request_, outcome.failure, outcome.message);
    else teller_.tell_statistics(request_, output_);
  }

 private:
  const Teller &teller_;
};

/// Writes the pieces of a key in its columns. False: there are not as many as columns.
bool split_key(const Container &container, Bytes key, std::span<Value> values) {
  Pieces pieces(key, container.separator(), container.key_columns());
  uint32_t count = 0;
  for (Bytes piece; pieces.next(piece); ++count) values[count] = Value::of(piece);
  return count == container.key_columns();
}

Op &add_op(Verb verb, Reply *reply, TableSlot *slot, const Surroundings &with) {
  Op &op = with.batch.add();
  op.verb = verb;
  op.reply = reply;
  op.slot = slot;
  return op;
}

Find find_of(std::span<const Value> row, const Container &container) {
  return {.key = row.first(container.key_columns()), .limit = 1};
}

bool compares_cas(const Request &request) {
  return request.compares || request.cas != 0;
}

/// The whole row of an item that the command makes, or the part of it that it sets.
void fill(std::span<Value> row, const Request &request, const Container &container, uint64_t cas, int64_t now) {
  const uint32_t first = container.first_value_column();
  if (request.action == Action::increment || request.action == Action::decrement) {
    row[first] = Value::of_natural(request.initial);
  } else {
    Pieces pieces(request.value, container.separator(), container.value_columns());
    uint32_t column = first;
    for (Bytes piece; pieces.next(piece); ++column) row[column] = Value::of(piece);
  }
  if (container.flags_column() != Container::no_column)
    row[container.flags_column()] = Value::of_integer(request.flags);
  if (container.keeps_cas()) row[container.cas_column()] = Value::of_natural(cas);
  if (container.keeps_expiry()) row[container.expiry_column()] = Value::of_integer(expires_at(request.expiry, now));
}

/// Whether the command makes an item where there is none.
bool inserts(const Request &request) {
  return request.action == Action::add || request.creates || (request.action == Action::set && !compares_cas(request));
}

}  // namespace

void lower_plain(const Request &request, Bytes value, const Group *group, const Surroundings &with) {
  add_op(Verb::answer, with.batch.arena().make<PlainAnswer>(request, value, group, with), nullptr, with);
}

void lower_failed(const Request &request, Failure failure, Bytes message, Group *group, const Surroundings &with) {
  FailedAnswer *const answer = with.batch.arena().make<FailedAnswer>(request, message, group, with);
  add_op(Verb::answer, answer, nullptr, with).failure = failure;
}

void lower_miss(const Request &request, Group *group, const Surroundings &with) {
  lower_disabled(request, group, with);
}

void lower_disabled(const Request &request, Group *group, const Surroundings &with) {
  add_op(Verb::answer, with.batch.arena().make<DisabledAnswer>(request, group, with), nullptr, with);
}

void lower_open(OpenContainer &target, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  add_op(Verb::open, arena.make<OpenAnswer>(target), &target.slot, with).spec =
      arena.make<TableSpec>(target.container->spec());
}

void lower_place(const Request &request, OpenContainer &target, bool in_table, Group *group, const Surroundings &with) {
  add_op(Verb::answer, with.batch.arena().make<PlaceAnswer>(request, target, group, with),
         in_table ? &target.slot : nullptr, with);
}

void lower_item(const Request &request, Bytes key, OpenContainer &target, Group *group, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  const Container &container = *target.container;
  const std::span<Value> row = arena.array<Value>(container.columns());
  if (!split_key(container, key, row)) {
    constexpr Bytes message = "The key has not as many parts as the container has key columns";
    return lower_failed(request, Failure::bad_key_value, message, group, with);
  }
  if ((compares_cas(request) || request.sets_cas) && !container.keeps_cas())
    return lower_failed(request, Failure::not_implemented, "The container has no cas_column", group, with);

  const bool touches = request.action == Action::touch || (request.action == Action::get && request.touches);
  if (request.action == Action::get && !(touches && container.keeps_expiry())) {
    add_op(Verb::find, arena.make<GetAnswer>(request, key, target, group, with), &target.slot, with).find =
        arena.make<Find>(find_of(row, container));
    return;
  }
  if (touches && !container.keeps_expiry()) {
    add_op(Verb::find, arena.make<PresenceAnswer>(request, target, with), &target.slot, with).find =
        arena.make<Find>(find_of(row, container));
    return;
  }

  const uint64_t cas = request.sets_cas ? request.new_cas : next_cas();
  fill(row, request, container, cas, with.now);
  const uint64_t told_cas = container.keeps_cas() ? cas : 0;
  ItemEdit &edit = *arena.make<ItemEdit>(request, container, row, with.now);
  const bool weighs = compares_cas(request) || (request.action != Action::set && request.action != Action::add &&
                                                request.action != Action::replace && request.action != Action::erase);
  const bool makes = inserts(request);
  if (makes) {
    const bool plain = request.action == Action::set;
    WriteAnswer *const answer = arena.make<WriteAnswer>(request, edit, true, told_cas, target, with);
    add_op(Verb::insert, answer, &target.slot, with).insert =
        arena.make<Insert>(Insert{.values = row,
                                  .on_duplicate = plain ? OnDuplicate::update : OnDuplicate::decide,
                                  .edit = plain ? nullptr : &edit,
                                  .weighs = !plain && weighs});
    return;
  }
  EditRows &rows = *arena.make<EditRows>(find_of(row, container), &edit);
  rows.erases = request.action == Action::erase;
  rows.weighs = weighs;
  Reply *reply = nullptr;
  if (request.action == Action::get) {
    rows.rows_wanted = true;
    reply = arena.make<GetAndTouchAnswer>(request, edit, target, group, with);
  } else {
    reply = arena.make<WriteAnswer>(request, edit, false, told_cas, target, with);
  }
  add_op(Verb::edit, reply, &target.slot, with).edit = &rows;
}

void lower_memory(const Request &request, Bytes key, OpenContainer &target, Cache &cache, Group *group,
                  const Surroundings &with) {
  Arena &arena = with.batch.arena();
  const Request *keyed = &request;
  if (key.data() != request.key.data() || key.size() != request.key.size()) {
    Request &copy = *arena.make<Request>(request);
    copy.key = key;
    keyed = &copy;
  }
  add_op(Verb::answer, arena.make<MemoryAnswer>(request, *keyed, target, cache, group, with), nullptr, with);
}

void lower_flush(const Request &request, OpenContainer &target, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  EditRows &rows = *arena.make<EditRows>();
  rows.find = {.comparison = Comparison::at_least, .limit = std::numeric_limits<uint64_t>::max()};
  rows.edit = arena.make<FlushEdit>();
  rows.erases = true;
  add_op(Verb::edit, arena.make<FlushAnswer>(request, target, with), &target.slot, with).edit = &rows;
}

void lower_erase_expired(Bytes key, OpenContainer &target, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  const Container &container = *target.container;
  const std::span<Value> values = arena.array<Value>(container.key_columns());
  if (!split_key(container, arena.copy(key), values)) return;
  EditRows &rows = *arena.make<EditRows>(find_of(values, container), arena.make<ExpiredEdit>(container, with.now));
  rows.erases = true;
  add_op(Verb::edit, arena.make<ErasedAnswer>(target, with.statistics), &target.slot, with).edit = &rows;
}

void lower_login(const Request &request, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  add_op(Verb::login, arena.make<LoginAnswer>(request, with), nullptr, with).login =
      arena.make<Login>(request.user, request.password);
}

void lower_statistics(const Request &request, const Teller &teller, const Surroundings &with) {
  add_op(Verb::answer, with.batch.arena().make<StatisticsAnswer>(request, teller, with), nullptr, with);
}

}  // namespace postern::memcached
