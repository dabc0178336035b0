// row_wait.h: RowWait, which bounds how long one executor's writes wait for locks of the storage engine.
//
// The server notifies the thread's scheduler when a statement begins to wait for a lock on a row or, as InnoDB's
// AUTO-INC lock is, on a table. Meanwhile a timer of the server checks the wait every few milliseconds and interrupts
// it, as KILL QUERY would, once its time is used up or the thread has to stop. A write that never waits costs nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/sql/wait_budget.h"

class THD;

namespace postern::mariadb {

/// Owned and used by the waiting thread; one for each thread.
class RowWait {
 public:
  /// A wait is also cut short when `stop` becomes true.
  explicit RowWait(const std::atomic<bool> &stop);
  ~RowWait();
  RowWait(const RowWait &) = delete;
  RowWait &operator=(const RowWait &) = delete;

  /// Stops or starts bounding the calling thread's waits. The current thread calls stop first.
  static void leave_thread();
  void enter_thread();

  void set_thd(THD *thd) { thd_ = thd; }

  /// Bounds all further waits together to `ms` milliseconds.
  void allow(int64_t ms) { budget_.allow(ms); }
  /// Whether waits are bounded at present; by default they are not.
  void watch(bool on) { watching_ = on; }
  /// Whether a wait was cut short since the last call; clears the interruption. Called after every write.
  bool take_expired();
  bool expired() const { return expired_.load(std::memory_order_relaxed); }
  /// Waits begun since the last call.
  uint64_t take_waits();

  /// The object of a wait.
  enum class For : uint8_t { nothing, row, table };
  /// The object of the last wait; `nothing` if none has begun since forget_last().
  For last() const { return last_; }
  void forget_last() { last_ = For::nothing; }

  /// For the thread's scheduler: the calling thread begins or ends a wait. Does nothing for a thread without a RowWait.
  static void on_begin(For what);
  static void on_end();

 private:
  struct Timer;
  void begin(For what);
  void end();
  void look();

  const std::atomic<bool> &stop_;
  std::unique_ptr<Timer> timer_;
  THD *thd_ = nullptr;
  sql::WaitBudget budget_;  // changed while the timer does not run, read by the timer's thread
  uint64_t waits_ = 0;
  For last_ = For::nothing;
  bool watching_ = false;
  bool running_ = false;
  std::atomic<bool> expired_{false};
};

}  // namespace postern::mariadb
