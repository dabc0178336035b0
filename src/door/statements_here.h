// statements_here.h: StatementsHere, the statements that a worker's threads serve themselves, one after the other
// between its turns; all others go to the pool.
//
// Whoever has the worker's loop touches it.
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
  /// Whether the statement that the job begins with is one for here: it may be expected to be short. `alone`: the
  /// worker has no other client.
  bool takes(const SlowJob &job, bool alone, int64_t now_ms);
  void add(std::unique_ptr<SlowJob> job) { waiting_.push_back(std::move(job)); }
  /// nullptr: there is none.
  std::unique_ptr<SlowJob> next() { return waiting_.pop_front(); }

  /// The thread is about to serve the job's statement, of that kind.
  void begin(const SlowJob &job, uint64_t kind) {
    kind_ = kind;
    since_us_ = clock_us();
    fd_ = job.connection->channel.fd();
  }
  /// That is over, or the loop has moved meanwhile.
  void end(int64_t now_us) { lasting_kinds_.note(kind_, now_us - since_us_, now_us / 1000); }
  /// The socket of the connection with the statement that began last.
  int fd() const { return fd_; }

 private:
  const Engine &engine_;
  LoopWatch &watch_;
  JobQueue waiting_;
  LastingKinds lasting_kinds_;
  uint64_t kind_ = 0;  // the served statement's
  int64_t since_us_ = 0;
  int fd_ = -1;
};

}  // namespace postern::door
