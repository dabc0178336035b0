// statement_pool.h: the threads on which the server serves what no worker answers: logins, statements, ends of
// sessions.
//
// A statement may wait for hours, so there is a thread for each that is under way: a new one when none is idle, and as
// many as there are connections at most. A thread that has had nothing to do for limits::pool_idle_s leaves. A
// connection is here for one command; then it goes home. A thread of the pool is no thread of the engine's: for the
// length of a command it is the session's.
#pragma once

#include <memory>

#include "base/counters.h"
#include "door/lanes/inbox.h"
#include "door/lanes/slow_job.h"

namespace postern::door {

class StatementPool {
 public:
  explicit StatementPool(std::string name);
  ~StatementPool();
  StatementPool(const StatementPool &) = delete;
  StatementPool &operator=(const StatementPool &) = delete;

  /// Takes a job with a statement as its next op. Any thread. If no thread can be started for it, its connection goes
  /// home dead.
  void submit(std::unique_ptr<SlowJob> job);
  /// Takes a dead connection, to end its session and delete it. Any thread.
  void end(std::unique_ptr<Connection> connection);
  /// Interrupts running statements, ends the sessions of all jobs here, and waits for all threads but its caller: if
  /// that is one of the pool's, its statement goes on, and then its session ends. When all workers have left.
  void stop();
  /// Has stop(), which another thread is in, not wait for the calling one, if that is one of the pool's.
  void spare_caller();

  /// Adds what its threads counted.
  void add_counters(Counters &sum) const;

 private:
  struct State;
  class PoolThread;

  // Shared with the threads: the one that stops the pool outlives it.
  const std::shared_ptr<State> state_;
};

}  // namespace postern::door
