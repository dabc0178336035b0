// expiry.h: a client's expiry → the second since 1970 at which the item expires; 0 is never.
#pragma once

#include <cstdint>

#include "memcached/wire/request.h"

namespace postern::memcached {

/// Up to this many seconds a client counts from now.
inline constexpr Expiry relative_expiry_max = 30 * 24 * 60 * 60;

constexpr int64_t expires_at(Expiry expiry, int64_t now) {
  if (expiry < 0) return 1;
  return expiry == 0 || expiry > relative_expiry_max ? expiry : now + expiry;
}

}  // namespace postern::memcached
