// edits.h: the edit of each command on an existing row.
//
// Pure functions of the row, except that they note it for the reply. They live in the batch's arena.
#pragma once

#include <cstdint>
#include <span>

#include "contract/edit.h"
#include "items/container.h"
#include "items/expiry.h"
#include "items/item_command.h"

namespace postern::items {

/// An edit's note of the item, if it exists.
struct Seen {
  bool found = false;      ///< it existed, with the requested CAS
  bool other_cas = false;  ///< it existed, with another CAS
  bool expired = false;    ///< it was absent or expired
  bool no_number = false;
  uint64_t number = 0;  ///< increment and decrement: the new value
  ItemState state{};    ///< as it is now
};

/// Carries out one command on the row of its key. An expired item counts as absent: an insert overwrites it, a deletion
/// deletes its row, and everything else leaves it.
class ItemEdit final : public Edit {
 public:
  /// `values` is the whole row of a new item, in the order of the container's columns.
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
