// statements_here.h: StatementsHere, the statements that a worker's threads serve themselves, one after the other
// between its turns; all others go to the pool: those of a kind that lasted twice in a row. A thread without a
// processor because others have it would wait as long in the pool, so the second time the thread's own work and waits
// count.
//
// Used by the thread that has the worker's loop, except where stated.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "contract/executor.h"
#include "door/lanes/job_queue.h"
#include "door/lanes/lasting_kinds.h"
#include "door/lanes/loop_watch.h"

namespace postern::door {

class StatementsHere {
 public:
  /// Both outlive it.
  StatementsHere(const Engine &engine, LoopWatch &watch) : engine_(engine), watch_(watch) {}

  bool empty() const { return waiting_.empty(); }
  /// Whether the job's first statement should be served here, because it is expected to be short. `alone`: the worker
  /// has no other client.
  bool takes(const SlowJob &job, bool alone, int64_t now_ms);
  void add(std::unique_ptr<SlowJob> job) { waiting_.push_back(std::move(job)); }
  /// nullptr: there is none.
  std::unique_ptr<SlowJob> next() { return waiting_.pop_front(); }

  /// The calling thread is about to serve the job's statement.
  void begin(SlowJob &job) {
    kind_ = job.prospect.kind;
    if (lasting_kinds_.is_suspected(kind_)) job.use.begin();
    else job.use.forget();
    since_us_ = clock_us();
    fd_ = job.connection->channel.fd();
  }
  /// The statement has ended on the thread that served it, which still has the loop.
  void end(const SlowJob &job, int64_t now_us) {
    if (now_us - since_us_ < limits::lasting_us_min) lasting_kinds_.note_short(kind_);
    else if (!job.use.was_short(limits::lasting_us_min)) lasting_kinds_.note_lasting(kind_, now_us / 1000);
    note_ended(now_us);
  }
  /// The loop has moved away from the statement's thread. Whether that only waits for a processor is known at its end.
  void note_moved(int64_t now_us) {
    if (now_us - since_us_ < limits::lasting_us_min) lasting_kinds_.note_short(kind_);
    else lasting_kinds_.note_lasting(kind_, now_us / 1000);
    note_ended(now_us);
  }
  /// A statement has ended on the calling thread, which has lost the loop. Any thread.
  void note_end_elsewhere(const SlowJob &job) {
    if (job.use.was_short(limits::lasting_us_min)) preempted_.store(job.prospect.kind, std::memory_order_relaxed);
  }
  /// The worker sleeps until something comes.
  void rest() {
    if (!std::exchange(served_, false)) return;
    watch_.note_sleep(std::exchange(slept_us_, ended_us_), ended_us_);
  }
  /// When the last one began.
  int64_t since_us() const { return since_us_; }
  /// The socket of the connection with the statement that began last.
  int fd() const { return fd_; }

 private:
  void note_ended(int64_t now_us) {
    ended_us_ = now_us;
    served_ = true;
  }

  const Engine &engine_;
  LoopWatch &watch_;
  JobQueue waiting_;
  LastingKinds lasting_kinds_;
  std::atomic<uint64_t> preempted_{0};  // a kind that lasted only because its thread had no processor; 0: none
  uint64_t kind_ = 0;                   // the kind of the statement being served
  int64_t since_us_ = 0;
  int64_t ended_us_ = 0;  // about when the worker sleeps
  int64_t slept_us_ = 0;  // when it did last, after a statement
  bool served_ = false;   // since then
  int fd_ = -1;
};

}  // namespace postern::door
