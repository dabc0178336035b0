// write_lane.h: WriteLane, the threads on which writers wait for the disk, so that no reader does.
//
// A worker's turn with writers leaves as a WriteJob, and the worker goes on with other connections. A committer runs
// the waiting jobs of all workers as one run, and so one transaction; later jobs are in the next. If commits sleep long
// the next run need not wait: while one committer waits for the disk another uses the processor. A connection's
// requests stay in order, because it is away until its worker settles its writes, when the job is home.
//
// Clients with transactions that are committed except for the flush come in the same way, and share a run's flush.
//
// A commit that was quick may stall the next time, for a replica, a full disk or a frozen node: if it may
// (Engine::commits_may_wait()) no worker commits. Otherwise a worker that commits by itself saves two wakes: writers go
// to the lane only if other clients read and runs have slept, for row locks, say.
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
  /// The least sleep of a run, in microseconds, that is worth giving it away: a shorter one costs less than two wakes.
  static constexpr int64_t sleep_us_min = 50;
  /// The least sleep, in microseconds, during which another run may begin: smaller groups flush more often, which costs
  /// processor time, too.
  static constexpr int64_t long_sleep_us_min = 500;
  /// After a run that met locked rows, so many runs begin only when the one before has ended: of two runs that change
  /// the same rows the second would wait until its time is over, and leave the rest to the slow lane, one by one.
  static constexpr uint32_t runs_apart = 16;
  /// One in so many runs by workers has its sleep measured.
  static constexpr uint32_t runs_per_look = 8;

  /// Everything outlives the lane. `ready` is called once, by a committer, when the first can take jobs.
  WriteLane(const Options &options, Engine &engine, std::function<void()> ready);
  ~WriteLane();

  [[nodiscard]] bool start();
  /// Ends the threads; jobs go home, refused. Idempotent.
  void stop();

  /// Whether a turn's writes are worth giving away. Any thread.
  bool pays() const { return slept_us() >= sleep_us_min; }
  /// Notes how long a run of writes slept. Any thread.
  void note_run(int64_t slept_us) { slept_us_.store(slept_us, std::memory_order_relaxed); }
  /// Takes a job, from start() on: clients may come before the committers. False, with the job left to the caller, if
  /// the lane is closed. Any thread.
  bool submit(std::unique_ptr<WriteJob> &job);

  void add_counters(Counters &sum) const;
  /// Adds the latencies of requests that were done here.
  void add_latencies(Latencies &sum) const;

  // For committers.

  bool stopped() const { return stop_.load(std::memory_order_acquire); }
  const std::atomic<bool> &stop_flag() const { return stop_; }
  /// A committer is ready.
  void open();
  /// A committer ends: the lane takes no more jobs, and waiting ones go home, refused.
  void close(Committer &leaving);
  /// A committer cannot start; if it was the last that could, this is close().
  void give_up(Committer &missing);
  /// Whether `one` takes the next jobs. If not it rests, and is woken when it does.
  bool comes_first(Committer &one);
  /// For the first committer: how many clients wait.
  size_t writers_waiting();

  struct Taken {
    WriteJobs jobs;
    size_t writers = 0;  ///< the connections of these
  };
  /// Takes all waiting jobs; another committer becomes the first.
  Taken take();
  /// The committer's jobs are done; `left_rows`: it met locked rows.
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
  uint32_t runs_apart_ = 0;       // so many runs still have to wait for the end of the one before
  Committer *first_ = nullptr;    // takes the next jobs
  Committer *resting_ = nullptr;  // the one that began to rest last, followed by the others
};

}  // namespace postern::door
