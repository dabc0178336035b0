#include "items/item_reply.h"

#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "base/limits.h"
#include "items/cas.h"

namespace postern::items {
namespace {

/// Values with the separator between them.
class JoinedValue {
 public:
  JoinedValue(Row values, Bytes separator) {
    size_t size = separator.size() * (values.size() - 1);
    for (const Value &value : values) size += value.kind() == Value::Kind::bytes ? value.bytes().size() : number_bytes;
    char *to = near_.data();
    if (size > near_.size()) {
      far_.reset(new (std::nothrow) char[size]);
      to = far_.get();
    }
    char *const begin = to;
    good_ = to != nullptr;
    for (size_t i = 0; good_ && i < values.size(); ++i) {
      if (i != 0) to = put(to, separator);
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

Item item_of(Bytes value, const ItemState &state, int64_t now) {
  return {.value = value, .flags = state.flags, .cas = state.cas, .expires_at = state.expires_at, .now = now};
}

/// `written`: the item now is as the command wants it.
Result result_of(const ItemCommand &command, const Seen &seen, bool written) {
  if (seen.other_cas) return Result::exists;
  if (seen.no_number) return Result::not_a_number;
  if (written) return Result::done;
  switch (command.action) {
    case ItemAction::add:
    case ItemAction::replace:
    case ItemAction::append:
    case ItemAction::prepend: return Result::not_stored;
    default: return Result::not_found;
  }
}

}  // namespace

Flow ItemReply::tell_value(Bytes value, const ItemState &state) {
  if (value.size() > limits::row_bytes_max) {
    lost_ = Failure::row_too_large;
    return Flow::more;
  }
  told_ = true;
  return answer(item_of(value, state, now_));
}

Flow ItemReply::tell_joined(Row values, const ItemState &state) {
  const JoinedValue joined(values, target_.container->separator());
  if (joined.good()) return tell_value(joined.bytes(), state);
  lost_ = Failure::out_of_memory;
  return Flow::more;
}

inline Flow ItemReply::tell_row(Row row, const ItemState &state) {
  const Container &container = *target_.container;
  const Row values = row.subspan(container.first_value_column(), container.value_columns());
  if (values.size() != 1 || values[0].kind() != Value::Kind::bytes) return tell_joined(values, state);
  return tell_value(values[0].bytes(), state);
}

Flow ItemReply::row(Row row) {
  if (work_ != Work::find) return work_ == Work::edit ? tell_row(row, edit_->seen().state) : Flow::more;
  const ItemState state = state_of(*target_.container, row);
  expired_ = is_expired(state.expires_at, now_);
  return expired_ ? Flow::more : tell_row(row, state);
}

Flow ItemReply::still_wanted(uint32_t) {
  return has_reader();
}

void ItemReply::done(const Outcome &outcome) {
  if (outcome.failure != Failure::none) {
    const Reason why = target_.reason(outcome);
    return answer({.failure = why.failure, .message = why.message});
  }
  switch (work_) {
    case Work::find:
      if (expired_) note_expired();
      return answer({.failure = lost_, .result = told_ ? Result::done : Result::not_found, .expired = expired_});
    case Work::presence: return answer({.result = outcome.rows != 0 ? Result::done : Result::not_found});
    case Work::edit:
    case Work::insert: return tell_written(outcome);
    case Work::flush: return answer(ItemOutcome{});
    case Work::memory: return carry_out();
  }
}

void ItemReply::tell_written(const Outcome &outcome) {
  const Seen &seen = edit_->seen();
  if (command_.action == ItemAction::get)
    return answer({.failure = lost_, .result = told_ ? Result::done : Result::not_found, .expired = seen.expired});
  const bool inserts = work_ == Work::insert;
  const bool made = inserts && outcome.changed != 0 && !seen.found;
  // A row that had exactly the values of a set already counts as unchanged.
  const bool is_plain_set = inserts && command_.action == ItemAction::set;
  const bool written = is_plain_set || made || (seen.found && command_.action != ItemAction::add);
  ItemOutcome told{.result = result_of(command_, seen, written), .made = made && command_.counts()};
  if (told.result != Result::done) return answer(told);
  if (command_.action == ItemAction::touch) told.cas = seen.state.cas;
  else if (command_.action != ItemAction::erase) told.cas = new_cas_;
  if (told.made) {
    told.number = command_.initial;
    told.expires_at = target_.container->keeps_expiry() ? command_.expires_at : 0;
  } else if (command_.counts()) {
    told.number = seen.number;
    told.flags = seen.state.flags;
    told.expires_at = seen.state.expires_at;
  }
  answer(told);
}

void ItemReply::carry_out() {
  class Telling final : public Cache::Reader {
   public:
    explicit Telling(ItemReply &reply) : reply_(reply) {}
    void item(const Item &item) override { (void)reply_.answer(item); }

   private:
    ItemReply &reply_;
  };
  const bool gets = command_.action == ItemAction::get;
  if (gets && !has_room()) return answer({.failure = Failure::reply_too_large});
  InMemory &memory = *memory_;
  if (gets || !memory.carried_out) {
    Telling telling(*this);
    memory.outcome = memory.cache.carry_out(*target_.space, command_, next_cas(), now_, telling);
    memory.carried_out = true;
  }
  answer(memory.outcome);
}

void ItemReply::note_expired() {
  if (target_.may_erase && target_.expired.size() < OpenContainer::expired_max)
    target_.expired.emplace_back(command_.key);
}

void ItemReply::restart() {
  take_back();
  told_ = false;
  expired_ = false;
  lost_ = Failure::none;
  if ((work_ == Work::edit || work_ == Work::insert) && edit_ != nullptr) edit_->forget();
}

void ErasedReply::done(const Outcome &outcome) {
  if (outcome.failure != Failure::none) target_.may_erase = false;
  else if (outcome.changed != 0) erased();
}

}  // namespace postern::items
