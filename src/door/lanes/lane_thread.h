// lane_thread.h: LaneThread, one thread of the slow lane, with an executor of its own, and how it runs a job.
//
// Owned by the lane. Only its own thread calls functions other than start(), wake(), join() and counters().
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/counters.h"
#include "contract/executor.h"
#include "door/lanes/slow_lane.h"
#include "door/connections/slow_log.h"
#include "door/lanes/stream_valve.h"
#include "door/connections/thread.h"
#include "net/poller.h"

namespace postern::door {

class SlowLane::LaneThread {
 public:
  LaneThread(SlowLane &lane, Duty duty, std::string name)
      : lane_(lane),
        duty_(duty),
        name_(std::move(name)),
        slow_log_(lane.options_, counters_),
        works_text_(name_ + work_of(duty)) {}

  bool start();
  void wake() { wake_.wake(); }
  void join() { thread_.join(); }
  const Counters &counters() const { return counters_; }

 private:
  static const char *work_of(Duty duty) {
    switch (duty) {
      case Duty::login: return ": verifying a login";
      case Duty::script: return ": running a script";
      case Duty::scan: break;
    }
    return ": scanning, or waiting for a table";
  }
  void work();
  /// Leaves no executor if the lane or the server stops.
  void attach(const ThreadIdentity &who);
  void turn();
  void describe(bool working);
  void end_script();
  void run(std::unique_ptr<SlowJob> job);
  void carry_out(std::unique_ptr<SlowJob> &job);
  /// False if the login has to wait. A refused login is done.
  bool admit(SlowJob &job);
  /// Runs one op, or those of one unit; the first op's progress says whether they are done, paused or held up. True if
  /// the engine has done them, with or without success.
  bool run_ops(SlowJob &job, std::span<Op> ops, StreamValve &valve);
  /// The transaction of the ops is lost: they are held up, or fail.
  void note_lost(SlowJob &job, std::span<Op> ops, const Settlement &settlement);
  /// Wakes jobs that wait for the tables or rows that these ops got.
  void let_others_try(std::span<const Op> ops, Progress before);
  /// False if the op has waited long enough.
  bool may_wait(SlowJob &job, Progress held_up) const;
  /// Fails the ops for a reason that the engine did not report to their replies.
  void tell(std::span<Op> ops, const Outcome &outcome);
  /// Ends the wait for a table when the op makes progress, not only when it is done.
  static void not_busy(SlowJob &job);
  void postpone(std::unique_ptr<SlowJob> job);
  /// Queues the job for a thread of its duty, or until due_ms.
  void hand_over(std::unique_ptr<SlowJob> job);
  /// Queues the job after all others.
  void make_way(std::unique_ptr<SlowJob> job);
  void park(std::unique_ptr<SlowJob> job);

  SlowLane &lane_;
  const Duty duty_;
  const std::string name_;
  SlowLog slow_log_;
  const std::string works_text_;
  Counters counters_;
  net::Poller poller_;
  net::WakeFd wake_;
  std::unique_ptr<Executor> executor_;
  bool described_working_ = false;
  Thread thread_;
};

}  // namespace postern::door
