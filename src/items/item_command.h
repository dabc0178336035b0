// item_command.h: ItemCommand, a client's command on one item, in any protocol.
//
// Plain values and views, which live until the batch is settled.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace postern::items {

enum class ItemAction : uint8_t {
  get,  ///< with ItemCommand::touches also sets the item's expiry
  touch,
  set,
  add,
  replace,
  append,
  prepend,
  increment,
  decrement,
  erase,
  flush,  ///< deletes all items of the container; there is no key
};

struct ItemCommand {
  ItemAction action = ItemAction::get;
  bool touches = false;   ///< get, increment, decrement: also sets the item's expiry to `expires_at`
  bool creates = false;   ///< increment, decrement: if there is no item, one is made of `initial`; append, prepend: of
                          ///< `value`. It expires at `expires_at`.
  bool compares = false;  ///< the action is only for an item with CAS `cas`
  bool sets_cas = false;  ///< the item's CAS shall be `new_cas`, else it is the next one
  uint32_t flags = 0;     ///< append, prepend: number of the value column; the first if no column has it
  Bytes key{};
  Bytes value{};
  int64_t expires_at = 0;  ///< on the caller's clock, which is that of the container's column; 0: never
  uint64_t cas = 0;
  uint64_t new_cas = 0;
  uint64_t delta = 1;  ///< increment, decrement
  uint64_t initial = 0;

  bool joins() const { return action == ItemAction::append || action == ItemAction::prepend; }
  bool counts() const { return action == ItemAction::increment || action == ItemAction::decrement; }
  /// Whether it creates a missing item.
  bool makes_item() const { return action == ItemAction::add || creates || (action == ItemAction::set && !compares); }
  /// The result of increment and decrement, which wrap around at the upper end and stop at zero.
  uint64_t changed(uint64_t number) const {
    return action == ItemAction::increment ? number + delta : number - std::min(number, delta);
  }
};

}  // namespace postern::items
