// known_rights.h: the rights that an op needs, and KnownRights, a cache of the rights of accounts.
//
// Belongs to one executor and is used on its thread. The result of a check is valid for limits::privileges_hold_ms, so
// a revoked privilege ends within that time, and a busy account is not checked for each op.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/limits.h"
#include "contract/executor.h"
#include "contract/op.h"

namespace postern::sql {

/// Bits: what an account may do with an open index.
using Rights = uint8_t;
namespace right {
inline constexpr Rights see = 1;     ///< the columns wanted
inline constexpr Rights filter = 2;  ///< to read the filter columns
inline constexpr Rights insert = 4;
inline constexpr Rights update = 8;
inline constexpr Rights erase = 16;
inline constexpr Rights see_key = 32;  ///< to read the index's columns, which are known when the table is open
}  // namespace right

/// `access`: the door's. Opening an index for writing needs no right yet, because the client names its changes later.
Rights rights_needed(const Op &op, Access access);

class KnownRights {
 public:
  /// Whether the account has all `needed` rights on the spec; both are given by numbers that are never reused. Calls
  /// `look(Rights wanted) -> std::optional<Rights> allowed` for unknown rights; nullopt: they cannot be checked now.
  template <class Look>
  bool has(Rights needed, uint64_t account, uint64_t spec, int64_t now_ms, Look look) {
    Cached &known = known_of(account, spec, now_ms);
    // Asks only for the rights needed: a refusal may reach audit plugins.
    if (const auto unknown = static_cast<Rights>(needed & ~known.looked_at)) {
      const std::optional<Rights> found = look(unknown);
      if (!found) return false;
      known.allowed |= *found;
      known.looked_at |= unknown;
    }
    return (known.allowed & needed) == needed;
  }

 private:
  struct Cached {
    uint64_t account = 0;
    uint64_t spec = 0;
    int64_t since_ms = 0;
    Rights looked_at = 0;
    Rights allowed = 0;  // among these
  };

  Cached &known_of(uint64_t account, uint64_t spec, int64_t now_ms);

  std::unordered_map<uint64_t, Cached> known_;
};

}  // namespace postern::sql
