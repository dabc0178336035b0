// expiry.h: when an item expires. The protocol chooses the clock and its unit; 0 is never.
#pragma once

#include <cstdint>

namespace postern::items {

constexpr bool is_expired(int64_t expires_at, int64_t now) {
  return expires_at != 0 && expires_at <= now;
}

}  // namespace postern::items
