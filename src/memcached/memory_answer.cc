#include "memcached/memory_answer.h"

#include "base/limits.h"
#include "items/cas.h"

namespace postern::memcached {

void MemoryAnswer::done(const Outcome &outcome) {
  if (outcome.failure != Failure::none) return fail(outcome);
  const bool gets = request_.action == Action::get;
  if (gets && silent()) return;
  // An answer cannot be put off until the client has read what came before it.
  if (gets && output_.pending_bytes() > limits::edit_reply_bytes_max) return fail(Reason{Failure::reply_too_large, {}});
  if (gets || !carried_out_) {
    heard_ = false;
    came_to_ = cache_.carry_out(*target_->space, keyed_, items::next_cas(), now_, *this);
    carried_out_ = true;
    count_all();
  }
  if (came_to_.failure != Failure::none) return fail(Reason{came_to_.failure, {}});
  if (gets && heard_) return;
  if (!heard_) return tell(came_to_.result, came_to_.cas);
  begin();
  form().number(output_, request_, number_, item_);
}

void MemoryAnswer::item(const Item &item) {
  heard_ = true;
  begin();
  form().item(output_, request_, item);
}

void MemoryAnswer::number(uint64_t number, const Item &item) {
  heard_ = true;
  number_ = number;
  item_ = item;
  item_.value = {};
}

void MemoryAnswer::count_all() {
  const bool hit = came_to_.failure == Failure::none && came_to_.result == Result::done;
  const bool compares = request_.compares || request_.cas != 0;
  if (request_.action != Action::get) count_prefix(false);
  switch (request_.action) {
    case Action::get:
      count(Statistic::cmd_get);
      count_get(hit);
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

}  // namespace postern::memcached
