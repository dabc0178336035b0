// clock.h: monotonic time. A worker reads the clock once a turn and passes the value on.
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

/// The same clock in microseconds.
inline int64_t clock_us() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

/// Milliseconds since 1970, as far as the machine knows.
inline int64_t wall_clock_ms() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// Microseconds that the calling thread has spent off the processor since some fixed moment: a difference is the time
/// it slept or waited for a processor. Goes back by a few microseconds at times. About 300 ns.
inline int64_t off_processor_us() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return clock_us() - (int64_t{used.tv_sec} * 1'000'000 + used.tv_nsec / 1000);
}

}  // namespace postern
