// write_lane.h: where writers wait for the disk, so that no reader does.
//
// A worker whose turn has readers and writers, and whose commits have been seen to sleep, gives the writers away: the
// turn leaves as a WriteJob, and the worker goes on with other connections. One thread runs what all workers of the
// door have left, as one run and so one transaction; what comes meanwhile is in the next. A connection's requests stay
// in order, for it is away until its writes are settled, which its worker does when the job is home.
//
// Where nobody reads, or commits do not sleep, nothing is given away: a worker that commits by itself spares two wakes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/counters.h"
#include "base/histogram.h"
#include "contract/executor.h"
#include "door/commit_delay.h"
#include "door/options.h"
#include "door/thread.h"
#include "door/turn.h"
#include "door/turn_clock.h"
#include "door/write_job.h"
#include "net/poller.h"

namespace postern::door {

/// How long the calling thread sleeps in a run, by its own will: for the disk, or for somebody's lock. That others had
/// the processor does not count.
class Sleep {
 public:
  void begin();
  /// Microseconds since begin().
  int64_t end() const;

 private:
  int64_t off_processor_us_ = 0;
  int64_t switches_ = 0;
};

class WriteLane {
 public:
  /// Microseconds that a run of writes sleeps, at least, where it is given away: less is not worth two wakes.
  static constexpr int64_t sleep_us_min = 50;
  /// Of so many runs by workers one is looked at, how long it sleeps.
  static constexpr uint32_t runs_per_look = 8;

  /// Everything outlives the lane.
  WriteLane(const Options &options, Engine &engine);
  ~WriteLane();

  [[nodiscard]] bool start();
  /// Ends the thread; jobs go home, refused. Idempotent.
  void stop();

  /// Whether a turn's writes are worth giving away. Any thread.
  bool pays() const { return open_.load(std::memory_order_relaxed) && pays_.load(std::memory_order_relaxed); }
  /// How long a run of writes has slept. Any thread.
  void note_run(int64_t slept_us) { pays_.store(slept_us >= sleep_us_min, std::memory_order_relaxed); }
  /// Takes a job that is away. False, and the job left, if the lane is closed. Any thread.
  bool submit(std::unique_ptr<WriteJob> &job);

  const Counters &counters() const { return counters_; }
  /// Adds how long requests took that were done here.
  void add_latencies(Latencies &sum) const { clock_.add_latencies(sum); }

 private:
  void work();
  void turn();
  void describe(bool working);
  bool any_waiting();
  size_t writers_waiting();
  void await_writers();
  WriteJobs take();
  void run(WriteJobs jobs);
  void run_all(const WriteJobs &jobs);
  bool join(const WriteJobs &jobs);
  void lose(WriteJob &job);
  void close();

  Engine &engine_;
  const std::string name_;
  const std::string idle_text_;
  const std::string works_text_;
  Counters counters_;
  net::Poller poller_;
  net::WakeFd wake_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> open_{false};
  std::atomic<bool> pays_{false};

  std::mutex mutex_;  // a leaf
  bool closed_ = true;
  WriteJobs waiting_;
  size_t writers_waiting_ = 0;  // the connections of these

  // The thread's own.
  std::unique_ptr<Executor> executor_;
  Turn joint_;  // the writers of several jobs
  TurnClock clock_;
  bool described_working_ = true;
  CommitDelay commit_delay_;

  Thread thread_;
};

}  // namespace postern::door
