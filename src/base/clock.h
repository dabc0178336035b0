// clock.h: monotonic milliseconds. A worker reads the clock once a turn and passes the value on.
#pragma once

#include <time.h>

#include <cstdint>

namespace postern {

/// Milliseconds since some fixed moment; never goes back. About 20 ns.
inline int64_t clock_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace postern
