// lane_thread.h: one thread of the slow lane, with an executor of its own: how it runs one job.
//
// The lane owns it. All but start(), wake(), join() and counters() is its thread's.
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
  void turn();
  void describe(bool working);
  void run(std::unique_ptr<SlowJob> job);
  void carry_out(std::unique_ptr<SlowJob> &job);
  /// False if the login has to wait for its turn. It is done if it was refused.
  bool admit(SlowJob &job);
  /// Runs one op, or those of one unit, which are done afterwards, or paused, or held up, as the first says. True if
  /// the engine has done them, well or not.
  bool run_ops(SlowJob &job, std::span<Op> ops, StreamValve &valve);
  /// The transaction of the ops is lost: they are held up, or have failed.
  void note_lost(SlowJob &job, std::span<Op> ops, const Settlement &settlement);
  /// Wakes others that wait for the tables or rows that these ops have got.
  void let_others_try(std::span<const Op> ops, Progress before);
  /// False if the op has waited long enough.
  bool may_wait(SlowJob &job, Progress held_up) const;
  /// The ops fail for a reason that the engine did not pass to their replies.
  void tell(std::span<Op> ops, const Outcome &outcome);
  /// The wait for a table ends when the op gets on, not only when it is done.
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
