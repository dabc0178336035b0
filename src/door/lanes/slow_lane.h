// slow_lane.h: SlowLane, the threads for requests that are too much for a worker's turn.
//
// A find that reads or answers a lot, or any request for a table that DDL holds, leaves its worker with its connection
// and the connection's later ops. Lane threads run those ops one at a time. A long reply streams: between rows the
// written bytes are sent at once, so memory stays bounded. A client that does not read loses its lane thread within
// limits::client_stall_ms_max: the engine notes a position and gives up tables and read view. A job that has used up
// its time while others wait goes to the end of the queue, so that a find of a few rows waits for no scan. When all ops
// are answered the connection goes home to its worker. When one job gets a table that others wait for, those go home as
// well: their worker runs them together.
//
// A commit may stall, for a disk or a replica. So that finds never wait for other clients' commits, a door that writes
// has one thread more than may run writing jobs.
//
// Scripts that may compute for seconds (Script::may_last()) have threads of their own, with a lower priority: one from
// the beginning and others when needed, up to Options::script_threads.
//
// Jobs that wait for a table or a row lock are tried again and again, in turns with jobs that were not held up. The
// more there are, the shorter each try waits. All threads but one may wait longer for a row: their jobs have a place in
// the storage engine's queue, beside SQL.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/counters.h"
#include "contract/executor.h"
#include "door/lanes/job_queue.h"
#include "door/lanes/logins.h"
#include "door/connections/options.h"
#include "door/connections/thread.h"
#include "net/poller.h"

namespace postern::door {

class SlowLane {
 public:
  /// Everything outlives the lane.
  SlowLane(const Options &options, Engine &engine, Access access);
  ~SlowLane();

  [[nodiscard]] bool start();
  /// Ends all threads; connections go home dead. Idempotent.
  void stop();

  /// Takes a job. Any thread. After stop() the connection goes home dead at once.
  void submit(std::unique_ptr<SlowJob> job);

  /// Whether a job could run if a thread were free. Lane threads only.
  bool others_wait(int64_t now_ms);

  /// Adds what its threads counted.
  void add_counters(Counters &sum) const;

 private:
  class LaneThread;

  /// The kinds of jobs that a thread takes.
  enum class Duty : uint8_t { scan, login, script };
  Duty duty_for(const SlowJob &job) const;
  JobQueue &queue_for(const SlowJob &job);

  void start_script_threads();
  std::unique_ptr<SlowJob> take_script();
  std::unique_ptr<SlowJob> take(Duty duty, int64_t now_ms, int64_t &wait_until_ms);
  size_t logins_waiting();
  size_t retry_ms_max();
  bool queue_up(std::unique_ptr<SlowJob> &job);
  void put_back(std::unique_ptr<SlowJob> job);
  /// A job has left its thread; `stayed`, `wrote`: as the thread had counted it.
  void left(bool stayed, bool wrote);
  void left_script();
  size_t scan_threads() const { return std::max<uint32_t>(options_.scan_threads, 1); }
  /// Whether a thread may take it now.
  bool may_take(const SlowJob &job) const { return writing_ < scan_threads() || !job.writes(); }
  bool any_to_take(const JobQueue &queue) const;
  std::unique_ptr<SlowJob> take_first(JobQueue &queue);
  std::unique_ptr<SlowJob> take_runnable(int64_t now_ms);
  std::unique_ptr<SlowJob> take_held_up();
  std::unique_ptr<SlowJob> take_long_running(int64_t now_ms);
  void allow_row_wait(SlowJob &job);
  size_t staying_max() const { return options_.scan_threads > 1 ? options_.scan_threads - 1 : 0; }
  size_t jobs_waiting() const { return runnable_.size() + held_up_.size() + delayed_.size(); }
  void park(std::unique_ptr<SlowJob> job);
  void unpark_ready();
  void unpark_silent(int64_t now_ms, Counters &counters);
  void unpark(SlowJob *job);
  void let_go(const TableSpec &table);
  void try_waiters_for_rows(const TableSpec &table);
  static bool waits_for(const SlowJob &job, const TableSpec &table, Progress held_up);
  static void go_home(std::unique_ptr<SlowJob> job);
  void thread_left();
  void close();
  void wake_all();

  const Options &options_;
  Engine &engine_;
  const Access access_;
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<LaneThread>> threads_;
  std::atomic<uint32_t> threads_running_{0};
  net::Poller parked_poller_;  // watched by every scan thread
  Logins logins_;

  std::mutex mutex_;  // may be held while an inbox's mutex is taken
  bool closed_ = false;
  JobQueue login_jobs_;   // runnable, by login threads alone
  JobQueue script_jobs_;  // runnable or held up, by script threads alone
  size_t scripts_running_ = 0;
  size_t script_threads_ = 0;  // that have started
  JobQueue runnable_;
  JobQueue held_up_;                 // runnable, too
  JobQueue long_running_;            // likewise
  bool held_up_next_ = false;        // it is their turn
  int64_t long_running_due_ms_ = 0;  // when a long-running job is next
  size_t staying_ = 0;               // threads that may wait long for a row
  size_t writing_ = 0;               // threads with jobs that write
  bool passed_by_ = false;           // a thread that rests now has passed by a job that writes
  JobQueue delayed_;                 // until due_ms
  JobQueue parked_;                  // until the client reads
};

}  // namespace postern::door
