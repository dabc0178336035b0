#include "memcached/table_answers.h"

#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "base/limits.h"
#include "base/log.h"
#include "memcached/expiry.h"

namespace postern::memcached {
namespace {

/// What an item's answer takes beside key and value, about: more has room all the same.
constexpr size_t frame_bytes = 256;

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

}  // namespace

void ItemAnswer::restart() {
  KeyAnswer::restart();
  told_ = false;
  lost_ = Failure::none;
}

Flow ItemAnswer::tell_item(Row row, const ItemState &state) {
  if (silent()) return Flow::more;
  const Row values = row.subspan(container().first_value_column(), container().value_columns());
  if (values.size() == 1 && values[0].kind() == Value::Kind::bytes) return tell_value(values[0].bytes(), state);
  const JoinedValue joined(values, container().separator());
  if (joined.good()) return tell_value(joined.bytes(), state);
  lost_ = Failure::out_of_memory;
  return Flow::more;
}

Flow ItemAnswer::tell_value(Bytes value, const ItemState &state) {
  if (value.size() > limits::row_bytes_max) {
    lost_ = Failure::row_too_large;
    return Flow::more;
  }
  const bool streaming = output_.streaming();
  const size_t bytes = value.size() + request_.key.size();
  if (!streaming && output_.flow(output_.mark(), bytes) == Flow::pause) return Flow::pause;
  begin();
  if (bytes > limits::output_piece_bytes_max) output_.expect(bytes + frame_bytes);
  form().item(output_, request_,
              {.value = value, .flags = state.flags, .cas = state.cas, .expires_at = state.expires_at, .now = now_});
  told_ = true;
  return streaming ? output_.flow(passage_.start()) : Flow::more;
}

bool ItemAnswer::failed(const Outcome &outcome) {
  const bool ours = outcome.failure == Failure::none;
  if (ours && lost_ == Failure::none) return false;
  if (!passage_.take_back()) return true;
  if (ours) fail(Reason{lost_, {}});
  else fail(outcome);
  return true;
}

Flow GetAnswer::row(Row row) {
  const ItemState state = state_of(container(), row);
  expired_ = is_expired(state.expires_at, now_);
  return expired_ ? Flow::more : tell_item(row, state);
}

Flow GetAnswer::still_wanted(uint32_t) {
  return output_.still_wanted();
}

void GetAnswer::done(const Outcome &outcome) {
  if (failed(outcome)) return count(Statistic::cmd_get);
  count(Statistic::cmd_get);
  count_get(told_);
  if (expired_) note_expired();
  if (!told_) tell(Result::not_found);
}

void GetAnswer::restart() {
  ItemAnswer::restart();
  expired_ = false;
}

void GetAnswer::note_expired() {
  count(Statistic::get_expired);
  if (open_.may_erase && open_.expired.size() < OpenContainer::expired_max) open_.expired.emplace_back(key_);
}

void PresenceAnswer::done(const Outcome &outcome) {
  count(Statistic::cmd_touch);
  if (outcome.failure != Failure::none) return fail(outcome);
  count(outcome.rows != 0 ? Statistic::touch_hits : Statistic::touch_misses);
  tell(outcome.rows != 0 ? Result::done : Result::not_found);
}

void GetAndTouchAnswer::done(const Outcome &outcome) {
  count(Statistic::cmd_get);
  count(Statistic::cmd_touch);
  if (failed(outcome)) return;
  count_get(told_);
  count(told_ ? Statistic::touch_hits : Statistic::touch_misses);
  if (edit_.seen().expired) count(Statistic::get_expired);
  if (!told_) tell(Result::not_found);
}

void GetAndTouchAnswer::restart() {
  ItemAnswer::restart();
  edit_.forget();
}

void WriteAnswer::done(const Outcome &outcome) {
  const Seen &seen = edit_.seen();
  const bool made = inserts_ && outcome.changed != 0 && !seen.found;
  count_command();
  if (outcome.failure != Failure::none) return fail(outcome);
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

void WriteAnswer::restart() {
  KeyAnswer::restart();
  edit_.forget();
}

void WriteAnswer::count_command() {
  count_prefix(false);
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

void WriteAnswer::done_set(const Seen &seen) {
  // A row that had just these values already counts as not changed.
  if (inserts_) return tell(Result::done, new_cas_);
  count(seen.found ? Statistic::cas_hits : seen.other_cas ? Statistic::cas_badval : Statistic::cas_misses);
  if (seen.found) return tell(Result::done, new_cas_);
  tell(seen.other_cas ? Result::exists : Result::not_found);
}

void WriteAnswer::done_count(bool made, const Seen &seen) {
  const bool up = request_.action == Action::increment;
  if (seen.other_cas) return tell(Result::exists);
  if (seen.no_number) return tell(Result::not_a_number);
  if (made || !seen.found) count(up ? Statistic::incr_misses : Statistic::decr_misses);
  else count(up ? Statistic::incr_hits : Statistic::decr_hits);
  if (!made && !seen.found) return tell(Result::not_found);
  begin();
  Item item{.value = {}, .flags = seen.state.flags, .cas = new_cas_, .expires_at = seen.state.expires_at, .now = now_};
  if (made) {
    item.flags = 0;
    item.expires_at = target_->container->keeps_expiry() ? expires_at(request_.expiry, now_) : 0;
  }
  form().number(output_, request_, made ? request_.initial : seen.number, item);
}

void FlushAnswer::done(const Outcome &outcome) {
  count(Statistic::cmd_flush);
  if (outcome.failure != Failure::none) return fail(outcome);
  tell(Result::done);
}

void OpenAnswer::done(const Outcome &outcome) {
  target_.failure = outcome.failure;
  if (outcome.failure == Failure::none) return;
  const Container &container = *target_.container;
  target_.message = "container '" + container.name() + "' (" + container.place() + "): ";
  target_.message += outcome.message.empty() ? failure_text(outcome.failure) : outcome.message;
  // That is the mapping's fault, which an administrator must know.
  const bool mapping_wrong = kind_of(outcome.failure) == FailureKind::schema;
  if (mapping_wrong && container.tell_once()) log::error("memcached: %s", target_.message.c_str());
}

void OpenAnswer::restart() {
  target_.failure = Failure::none;
  target_.message.clear();
}

void ErasedAnswer::done(const Outcome &outcome) {
  if (outcome.failure != Failure::none) target_.may_erase = false;
  else if (outcome.changed != 0) statistics_.add(Statistic::expired_erased);
}

}  // namespace postern::memcached
