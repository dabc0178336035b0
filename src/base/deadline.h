// deadline.h: points of time in the future, in the form that system calls take.
#pragma once

#include <time.h>

#include <cstdint>

namespace postern {

/// The time in `us` microseconds (0 or more) by CLOCK_MONOTONIC, for calls like sem_clockwait().
inline timespec deadline_after_us(int64_t us) {
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_nsec += us % 1'000'000 * 1'000;
  at.tv_sec += us / 1'000'000 + at.tv_nsec / 1'000'000'000;
  at.tv_nsec %= 1'000'000'000;
  return at;
}

}  // namespace postern
