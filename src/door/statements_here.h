// statements_here.h: StatementsHere, the statements that a worker's threads serve themselves, one after the other
// between its turns; all others go to the pool.
//
// Used by the thread that has the worker's loop.
#pragma once

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

  /// The thread is about to serve the job's statement, which has that kind.
  void begin(const SlowJob &job, uint64_t kind) {
    kind_ = kind;
    since_us_ = clock_us();
    fd_ = job.connection->channel.fd();
  }
  /// The statement has ended, or the loop has moved meanwhile.
  void end(int64_t now_us) {
    lasting_kinds_.note(kind_, now_us - since_us_, now_us / 1000);
    ended_us_ = now_us;
    served_ = true;
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
  const Engine &engine_;
  LoopWatch &watch_;
  JobQueue waiting_;
  LastingKinds lasting_kinds_;
  uint64_t kind_ = 0;  // the kind of the statement being served
  int64_t since_us_ = 0;
  int64_t ended_us_ = 0;  // about when the worker sleeps
  int64_t slept_us_ = 0;  // when it did last, after a statement
  bool served_ = false;   // since then
  int fd_ = -1;
};

}  // namespace postern::door
