// item.h: items and outcomes, for protocols.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/failure.h"

namespace postern::items {

/// One item. Borrowed during the call.
struct Item {
  Bytes value{};
  uint32_t flags = 0;
  uint64_t cas = 0;        ///< 0: the container keeps none
  int64_t expires_at = 0;  ///< 0: never
  int64_t now = 0;         ///< the present time on the same clock, to compute the time left
};

/// The result of a command that was carried out.
enum class Result : uint8_t {
  done,        ///< stored, deleted, touched, counted, flushed as asked; for a get: the item was passed on
  not_found,   ///< there is no such item
  exists,      ///< the item has another CAS
  not_stored,  ///< the item exists (add), or does not (replace, append, prepend)
  not_a_number,
};

/// The outcome of a command.
struct ItemOutcome {
  Failure failure = Failure::none;  ///< if not none, nothing has changed
  Bytes message{};                  ///< the failure's, for people; may be empty. Borrowed for the length of the call.
  Result result = Result::done;     ///< if there is no failure
  bool made = false;                ///< increment, decrement on a table: a missing item was made
  bool expired = false;             ///< a get has met an expired item
  uint64_t cas = 0;                 ///< the item's new one, if it was written; 0: the container keeps none
  uint64_t number = 0;              ///< increment, decrement: the new one, and the item's flags and expiry
  uint32_t flags = 0;
  int64_t expires_at = 0;
};

}  // namespace postern::items
