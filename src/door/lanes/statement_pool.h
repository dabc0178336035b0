// statement_pool.h: StatementPool, the threads on which the server serves logins, statements and ends of sessions that
// no worker serves.
//
// A statement may wait for hours, so each running statement has a thread: a new one is started when none is idle, up to
// the number of connections. A thread ends after limits::pool_idle_s without work. A connection is here for one
// command; then it goes home. The pool's threads are not the engine's: during a command a thread belongs to the
// session.
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

  /// Takes a job with a statement as its next op. Any thread. If no thread can be started, the connection goes home
  /// dead.
  void submit(std::unique_ptr<SlowJob> job);
  /// Ends the session of a dead connection, and deletes the connection. Any thread.
  void end(std::unique_ptr<Connection> connection);
  /// Interrupts running statements, ends the sessions of all jobs, and waits for all threads but its caller: if the
  /// caller is one of them, its statement goes on, and its session ends after that. Called when all workers have ended.
  void stop();
  /// Makes another thread's stop() not wait for the calling thread, if that is one of the pool.
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
