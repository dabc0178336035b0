// thread_use.h: ThreadUse, which distinguishes a statement that works or waits from one whose thread others keep from
// its processor.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "contract/form_times.h"

namespace postern::door {

/// Used by one thread from begin() on.
class ThreadUse {
 public:
  /// Counts from here on. Takes about a microsecond.
  void begin() {
    begun_ = true;
    processor_ns_ = processor_ns();
    waits_ = waits();
  }
  void forget() { begun_ = false; }
  /// Whether the thread has neither computed for `us_min` since then nor waited for anything but a processor. False if
  /// that was not counted.
  bool was_short(int64_t us_min) const {
    return begun_ && processor_ns() - processor_ns_ < static_cast<uint64_t>(us_min) * 1000 && waits() == waits_;
  }

 private:
  static int64_t waits() {
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
  }

  bool begun_ = false;
  uint64_t processor_ns_ = 0;
  int64_t waits_ = 0;
};

}  // namespace postern::door
