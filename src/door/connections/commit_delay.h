// commit_delay.h: CommitDelay, how long a thread that commits for several clients waits for more of them before it
// begins a run.
//
// Several clients that write share one flush of the log, which takes much longer than their requests do. Clients that
// were answered together will soon ask again, while others have asked meanwhile: without a wait the two halves would
// wait for each other's flushes for ever. So the next run waits until all of them are back, if they come soon. After a
// wait in vain, because they had something else to do, the next one is shorter.
//
// One thread has it.
//
//   if (delay.begin(back, ...)) {
//     while (back < delay.writers() && delay.wait(poller, events) != 0) receive from them;
//     delay.end(back);
//   }
//   run;  delay.note_run(writers, how long it slept);
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
  /// The longest wait for clients, in microseconds, while no reader waits.
  static constexpr int64_t patient_us_max = 10'000;
  /// Each client may take this fraction of that time to come.
  static constexpr int64_t patient_gaps = 4;

  /// Whether the last run leaves a reason to wait.
  bool may_wait() const { return slept_us_ != 0; }
  /// Begins a wait and returns true, if there is a reason to. The wait is never longer than the last run slept, so a
  /// client waits for the disk at most twice as long. `back`: the number of answered clients that have asked again.
  /// `others_read`: readers bound the wait, too.
  bool begin(size_t back, bool others_read) {
    if (!may_wait() || back >= writers_) return false;
    back_ = back;
    const int64_t most_us = std::min(slept_us_, others_read ? limits::commit_delay_us_max : patient_us_max) >> vain_;
    until_us_ = clock_us() + most_us;
    gap_us_ = limits::commit_delay_gap_us;
    if (!others_read) gap_us_ = std::max(gap_us_, most_us / patient_gaps);
    return true;
  }
  /// Returns the number of events; 0 if no client comes soon, or the wait is over.
  size_t wait(net::Poller &poller, std::span<epoll_event> events) const {
    const int64_t left_us = until_us_ - clock_us();
    return left_us <= 0 ? 0 : poller.wait_briefly(events, std::min(left_us, gap_us_));
  }
  /// Ends the wait, with so many clients back. It was in vain if fewer than half of the missing ones came.
  void end(size_t back) { vain_ = 2 * (back - back_) >= writers_ - back_ ? 0 : std::min(vain_ + 1, vain_max); }

  /// The number of clients that the last run answered, which are worth waiting for.
  size_t writers() const { return writers_; }
  /// Notes a run of so many clients' writes that slept so long, for the disk. Without a flush there is no wait.
  void note_run(size_t writers, int64_t slept_us) {
    writers_ = writers;
    slept_us_ = std::max<int64_t>(slept_us, 0);
  }
  /// Notes a run for a single client.
  void note_other_run() { slept_us_ = 0; }

 private:
  static constexpr int vain_max = 3;

  size_t writers_ = 0;
  size_t back_ = 0;       // when this wait began
  int64_t slept_us_ = 0;  // 0: no wait
  int64_t until_us_ = 0;  // this wait's
  int64_t gap_us_ = 0;
  int vain_ = 0;  // consecutive waits in vain
};

}  // namespace postern::door
