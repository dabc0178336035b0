// gathering.h: how long a worker waits for clients that are about to ask, before it runs what others have asked.
//
// Several clients that write share one flush of the log, which takes much longer than their requests do. They have
// just been answered together and are about to ask again; whoever comes too late has to wait for a flush in between.
// A worker has one of these, and its thread alone touches it.
//
//   if (gathering.begin()) while (somebody is missing && gathering.wait(poller, events) != 0) receive them;
//   gathering.begin_run(shared);  run;  gathering.end_run();
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

class Gathering {
 public:
  /// Whether the last run leaves a reason to wait; the time begins.
  bool begin() {
    if (most_us_ == 0) return false;
    until_us_ = clock_us() + most_us_;
    return true;
  }

  /// How many events have come; none if nobody else comes soon, or it has taken long enough.
  size_t wait(net::Poller &poller, std::span<epoll_event> events) const {
    const int64_t left_us = until_us_ - clock_us();
    return left_us <= 0 ? 0 : poller.wait_briefly(events, std::min<int64_t>(left_us, limits::gather_gap_us));
  }

  /// `shared`: the run has writes, and ops of several clients.
  void begin_run(bool shared) {
    most_us_ = 0;
    shared_ = shared;
    if (shared) began_us_ = off_processor_us();
  }
  /// Who waits for the disk anyway waits twice as long at most. Where nothing is flushed the run has not slept.
  void end_run() {
    if (shared_) most_us_ = std::clamp<int64_t>(off_processor_us() - began_us_, 0, limits::gather_us_max);
  }

 private:
  int64_t most_us_ = 0;   // 0: nobody to wait for
  int64_t until_us_ = 0;  // of this wait
  int64_t began_us_ = 0;  // off the processor, when the run began
  bool shared_ = false;   // that run
};

}  // namespace postern::door
