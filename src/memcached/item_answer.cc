#include "memcached/item_answer.h"

#include "base/limits.h"

namespace postern::memcached {
namespace {

/// Approximate bytes of an item's answer besides key and value; a longer answer still gets room.
constexpr size_t frame_bytes = 256;

}  // namespace

Flow ItemAnswer::answer(const Item &item) {
  if (silent()) return Flow::more;
  const size_t bytes = item.value.size() + request_.key.size();
  const bool streaming = output_.streaming();
  if (!streaming && !in_memory() && output_.flow(output_.mark(), bytes) == Flow::pause) return Flow::pause;
  begin();
  if (bytes > limits::output_piece_bytes_max) output_.expect(bytes + frame_bytes);
  form().item(output_, request_, item);
  return streaming && !in_memory() ? output_.flow(passage_.start()) : Flow::more;
}

void ItemAnswer::answer(const items::ItemOutcome &outcome) {
  if (request_.asks(ItemAction::get)) return tell_get(outcome);
  count_command();
  if (outcome.failure != Failure::none) {
    if (passage_.take_back()) fail(outcome.failure, outcome.message);
    return;
  }
  count_outcome(outcome);
  if (outcome.result != Result::done || !request_.item.counts()) return KeyAnswer::tell(outcome.result, outcome.cas);
  begin();
  form().number(output_, request_, outcome.number,
                {.flags = outcome.flags, .cas = outcome.cas, .expires_at = outcome.expires_at, .now = now()});
}

/// The item is as written, if it was written.
void ItemAnswer::tell_get(const items::ItemOutcome &outcome) {
  const bool touches = request_.item.touches && (in_memory() || container().keeps_expiry());
  if (touches) count(Statistic::cmd_touch);
  if (outcome.failure != Failure::none) {
    count(Statistic::cmd_get);
    if (passage_.take_back()) fail(outcome.failure, outcome.message);
    return;
  }
  const bool hit = passage_.begun();
  count(Statistic::cmd_get, hit ? Statistic::get_hits : Statistic::get_misses);
  count_prefix(hit);
  if (outcome.expired) count(Statistic::get_expired);
  if (touches) count(hit ? Statistic::touch_hits : Statistic::touch_misses);
  if (!hit) KeyAnswer::tell(Result::not_found);
}

void ItemAnswer::take_back() {
  forget();
}

/// An item in memory is answered at once, whether or not the client has read the earlier answers.
bool ItemAnswer::has_room() {
  return output_.pending_bytes() <= limits::edit_reply_bytes_max;
}

void ItemAnswer::count_command() {
  count_prefix(false);
  switch (request_.item.action) {
    case ItemAction::set:
    case ItemAction::add:
    case ItemAction::replace:
    case ItemAction::append:
    case ItemAction::prepend: return count(Statistic::cmd_set);
    case ItemAction::touch: return count(Statistic::cmd_touch);
    case ItemAction::flush: return count(Statistic::cmd_flush);
    default: return;
  }
}

void ItemAnswer::count_outcome(const items::ItemOutcome &outcome) {
  const bool found = outcome.result == Result::done;
  switch (request_.item.action) {
    case ItemAction::touch: return count(found ? Statistic::touch_hits : Statistic::touch_misses);
    case ItemAction::set:
      if (!request_.item.compares) return;
      return count(found                              ? Statistic::cas_hits
                   : outcome.result == Result::exists ? Statistic::cas_badval
                                                      : Statistic::cas_misses);
    case ItemAction::increment:
    case ItemAction::decrement: return count_number(outcome);
    case ItemAction::erase:
      if (outcome.result == Result::exists && !in_memory()) return;
      return count(found ? Statistic::delete_hits : Statistic::delete_misses);
    default: return;
  }
}

void ItemAnswer::count_number(const items::ItemOutcome &outcome) {
  const bool up = request_.item.action == ItemAction::increment;
  const bool hit = outcome.result == Result::done && !outcome.made;
  if (hit) return count(up ? Statistic::incr_hits : Statistic::decr_hits);
  if (outcome.made || outcome.result == Result::not_found || in_memory())
    count(up ? Statistic::incr_misses : Statistic::decr_misses);
}

}  // namespace postern::memcached
