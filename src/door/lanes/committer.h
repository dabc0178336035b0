// committer.h: Committer, a thread of the write lane, which runs writes of several workers as one and waits for the
// disk.
//
// The lane's first committer takes all waiting jobs; while it runs them another becomes the first. The others rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/counters.h"
#include "base/histogram.h"
#include "contract/executor.h"
#include "door/connections/commit_delay.h"
#include "door/connections/thread.h"
#include "door/connections/turn.h"
#include "door/connections/turn_clock.h"
#include "door/lanes/write_job.h"
#include "net/poller.h"

namespace postern::door {

class WriteLane;

/// Measures how long the calling thread sleeps in a run, for the disk or for a lock. Time spent ready to run, without a
/// processor, does not count.
class Sleep {
 public:
  void begin();
  /// Microseconds since begin().
  int64_t end() const;

 private:
  int64_t off_processor_us_ = 0;
  int64_t switches_ = 0;
};

class Committer {
 public:
  /// Both outlive it.
  Committer(WriteLane &lane, Engine &engine, std::string name);

  [[nodiscard]] bool start();
  void join() { thread_.join(); }
  /// Any thread.
  void wake() const { wake_.wake(); }

  const Counters &counters() const { return counters_; }
  void add_latencies(Latencies &sum) const { clock_.add_latencies(sum); }

  // Guarded by the lane's mutex.
  bool rests = false;
  Committer *rests_behind = nullptr;

 private:
  void work();
  void turn();
  void rest();
  void await_writers();
  void run();
  void run_all(const WriteJobs &jobs);
  bool join_jobs(const WriteJobs &jobs);
  void lose(WriteJob &job);
  void flush(const WriteJobs &jobs);
  void describe(bool working);

  WriteLane &lane_;
  Engine &engine_;
  const std::string name_;
  const std::string works_text_;
  Counters counters_;
  net::Poller poller_;
  net::WakeFd wake_;

  // Used by its thread alone.
  std::unique_ptr<Executor> executor_;
  Turn joint_;  // the writers of several jobs
  TurnClock clock_;
  bool described_working_ = true;
  CommitDelay commit_delay_;

  Thread thread_;
};

}  // namespace postern::door
