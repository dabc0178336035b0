// expiry.h: when an item is over. Seconds since 1970 everywhere; 0 is never.
#pragma once

#include <cstdint>

#include "memcached/request.h"

namespace postern::memcached {

/// Up to this many seconds a client counts from now.
inline constexpr Expiry relative_expiry_max = 30 * 24 * 60 * 60;

constexpr int64_t expires_at(Expiry expiry, int64_t now) {
  if (expiry < 0) return 1;
  return expiry == 0 || expiry > relative_expiry_max ? expiry : now + expiry;
}

constexpr bool is_expired(int64_t expires_at, int64_t now) {
  return expires_at != 0 && expires_at <= now;
}

}  // namespace postern::memcached
