// write_lane.h: where writers wait for the disk, so that no reader does.
//
// A worker gives the writers of its turn away: the turn leaves as a WriteJob, and the worker goes on with other
// connections. A committer runs what all workers of the door have left, as one run and so one transaction; what comes
// meanwhile is in the next. Where commits sleep long the next need not wait for that: while one committer waits for the
// disk another uses the processor. A connection's requests stay in order, for it is away until its writes are settled,
// which its worker does when the job is home.
//
// Clients that have committed what their transactions wrote, but for the flush, come in the same way, and a run's flush
// is theirs.
//
// A commit that has been quick may stall the next time, for a replica, a full disk or a frozen node: where it may
// (Engine::commits_may_wait()) no worker commits. Elsewhere one that commits by itself spares two wakes: there writers
// are given away only where others read and runs have been seen to sleep, as for rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/histogram.h"
#include "contract/executor.h"
#include "door/lanes/committer.h"
#include "door/connections/options.h"
#include "door/lanes/write_job.h"

namespace postern::door {

class WriteLane {
 public:
  /// Microseconds that a run of writes sleeps, at least, where it is given away: less is not worth two wakes.
  static constexpr int64_t sleep_us_min = 50;
  /// Microseconds that it sleeps, at least, where another may begin meanwhile: smaller groups flush more often, which
  /// takes the processor's time, too.
  static constexpr int64_t long_sleep_us_min = 500;
  /// After one that had to leave locked rows so many runs begin when the one before has ended: of two that change the
  /// same rows the second would wait, and leave the rest to the slow lane, one by one, when its time is over.
  static constexpr uint32_t runs_apart = 16;
  /// Of so many runs by workers one is looked at, how long it sleeps.
  static constexpr uint32_t runs_per_look = 8;

  /// Everything outlives the lane. `ready` is called once, by a committer, when there is one for jobs.
  WriteLane(const Options &options, Engine &engine, std::function<void()> ready);
  ~WriteLane();

  [[nodiscard]] bool start();
  /// Ends the threads; jobs go home, refused. Idempotent.
  void stop();

  /// Whether a turn's writes are worth giving away. Any thread.
  bool pays() const { return slept_us() >= sleep_us_min; }
  /// How long a run of writes has slept. Any thread.
  void note_run(int64_t slept_us) { slept_us_.store(slept_us, std::memory_order_relaxed); }
  /// Takes a job that is away, from start() on: a client may come before the committers. False, and the job left, if
  /// the lane is closed. Any thread.
  bool submit(std::unique_ptr<WriteJob> &job);

  void add_counters(Counters &sum) const;
  /// Adds how long requests took that were done here.
  void add_latencies(Latencies &sum) const;

  // For committers.

  bool stopped() const { return stop_.load(std::memory_order_acquire); }
  const std::atomic<bool> &stop_flag() const { return stop_; }
  /// One is there, and ready.
  void open();
  /// One leaves: the lane takes no more, and jobs that nobody has taken go home, refused.
  void close(Committer &leaving);
  /// One cannot come: so it is where it was the last that could.
  void give_up(Committer &missing);
  /// Whether it is the one to take what comes next. Else it rests, until it is, and is woken then.
  bool comes_first(Committer &one);
  /// For that one: how many clients wait.
  size_t writers_waiting();

  struct Taken {
    WriteJobs jobs;
    size_t writers = 0;  ///< the connections of these
  };
  /// It takes all that waits, and somebody else comes first.
  Taken take();
  /// The committer's jobs are done; whether it had to leave locked rows.
  void done(bool left_rows);

 private:
  int64_t slept_us() const {
    return open_.load(std::memory_order_relaxed) ? slept_us_.load(std::memory_order_relaxed) : 0;
  }

  bool overlaps() const { return runs_apart_ == 0 && slept_us() >= long_sleep_us_min; }

  const std::function<void()> ready_;
  std::vector<std::unique_ptr<Committer>> committers_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> open_{false};
  std::atomic<int64_t> slept_us_{0};  // in the last run

  std::mutex mutex_;  // a leaf
  bool closed_ = false;
  size_t missing_ = 0;  // committers
  WriteJobs waiting_;
  size_t writers_waiting_ = 0;    // the connections of these
  size_t runs_ = 0;               // under way
  uint32_t runs_apart_ = 0;       // so many are yet to begin when the one before has ended
  Committer *first_ = nullptr;    // takes what comes next
  Committer *resting_ = nullptr;  // the one that rests since last, and after it the others
};

}  // namespace postern::door
