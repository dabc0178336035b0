// commit_delay.h: how long a worker waits for more clients that write before it runs what others have asked.
//
// Several clients that write share one flush of the log, which takes much longer than their requests do. They have
// just been answered together and are about to ask again; a client that comes too late waits for a flush in between.
// A worker has one of these, and its thread alone touches it.
//
//   if (delay.begin()) while (clients are missing && delay.wait(poller, events) != 0) receive from them;
//   delay.begin_run(shared);  run;  delay.end_run();
#pragma once

#include <sys/epoll.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.h"
#include "base/limits.h"
#include "net/poller.h"

namespace postern::door {

class CommitDelay {
 public:
  /// Whether the last run leaves a reason to wait; the time begins.
  bool begin() {
    if (most_us_ == 0) return false;
    until_us_ = clock_us() + most_us_;
    return true;
  }

  /// How many events have come; none if no client comes soon, or it has taken long enough.
  size_t wait(net::Poller &poller, std::span<epoll_event> events) const {
    const int64_t left_us = until_us_ - clock_us();
    return left_us <= 0 ? 0 : poller.wait_briefly(events, std::min<int64_t>(left_us, limits::commit_delay_gap_us));
  }

  /// `shared`: the run has writes, and ops of several clients.
  void begin_run(bool shared) {
    most_us_ = 0;
    shared_ = shared;
    if (shared) began_us_ = off_processor_us();
  }
  /// The next wait is at most as long as this run slept, for the disk. Where nothing is flushed that is not at all.
  void end_run() {
    if (shared_) most_us_ = std::clamp<int64_t>(off_processor_us() - began_us_, 0, limits::commit_delay_us_max);
  }

 private:
  int64_t most_us_ = 0;   // 0: no wait
  int64_t until_us_ = 0;  // of this wait
  int64_t began_us_ = 0;  // off the processor, when the run began
  bool shared_ = false;   // that run
};

}  // namespace postern::door
