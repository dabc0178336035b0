#include "items/cas.h"

#include <time.h>

#include <atomic>

namespace postern::items {

uint64_t next_cas() {
  static std::atomic<uint64_t> last{0};
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t now_us = static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1'000;
  uint64_t before = last.load(std::memory_order_relaxed);
  uint64_t cas = 0;
  do {
    cas = before < now_us ? now_us : before + 1;
  } while (!last.compare_exchange_weak(before, cas, std::memory_order_relaxed));
  return cas;
}

}  // namespace postern::items
