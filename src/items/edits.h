// edits.h: what each command makes of the row that is there.
//
// Pure functions of the row, but that they note it for the reply. They live in the batch's arena.
#pragma once

#include <cstdint>
#include <span>

#include "contract/edit.h"
#include "items/container.h"
#include "items/expiry.h"
#include "items/item_command.h"

namespace postern::items {

/// What an edit saw of the item, if it was there.
struct Seen {
  bool found = false;      ///< there was one, with the CAS that was asked for
  bool other_cas = false;  ///< there was one, with another
  bool expired = false;    ///< there was none any more
  bool no_number = false;
  uint64_t number = 0;  ///< increment and decrement: the new value
  ItemState state{};    ///< as it is now
};

/// Carries out one command on the row of its key. An expired item counts as none: an insert overwrites it, everything
/// else leaves it, but for a deletion, which takes the row along.
class ItemEdit final : public Edit {
 public:
  /// `values` is the whole row that an item made anew has, in the order of the container's columns.
  ItemEdit(const ItemCommand &command, const Container &container, std::span<const Value> values, int64_t now)
      : command_(command), container_(container), values_(values), now_(now) {}

  Decision present(Row row, Draft &next) override;
  const Seen &seen() const { return seen_; }
  void forget() { seen_ = {}; }

 private:
  Decision store(Draft &next);
  Decision join(Draft &next);
  Decision count(Row row, Draft &next);
  void renew_cas(Draft &next);
  void renew_expiry(Draft &next);

  const ItemCommand &command_;
  const Container &container_;
  const std::span<const Value> values_;
  const int64_t now_;
  Seen seen_;
};

/// Deletes an item that is still expired.
class ExpiredEdit final : public Edit {
 public:
  ExpiredEdit(const Container &container, int64_t now) : container_(container), now_(now) {}
  Decision present(Row row, Draft &) override {
    return is_expired(state_of(container_, row).expires_at, now_) ? Decision::erase : Decision::keep;
  }

 private:
  const Container &container_;
  const int64_t now_;
};

/// Deletes everything.
class FlushEdit final : public Edit {
 public:
  Decision present(Row, Draft &) override { return Decision::erase; }
};

}  // namespace postern::items
