// deadline.h: points of time to come, as functions of the system take them.
#pragma once

#include <time.h>

#include <cstdint>

namespace postern {

/// That many microseconds, 0 or more, from now by CLOCK_MONOTONIC, for sem_clockwait() and its like.
inline timespec deadline_after_us(int64_t us) {
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_nsec += us % 1'000'000 * 1'000;
  at.tv_sec += us / 1'000'000 + at.tv_nsec / 1'000'000'000;
  at.tv_nsec %= 1'000'000'000;
  return at;
}

}  // namespace postern
