// row_wait.h: RowWait, how long the writes of one executor wait for row locks.
//
// The server tells the thread's scheduler when a statement begins to wait for a row lock. While one does, a timer of
// the server looks after the wait every few milliseconds and interrupts it, as KILL QUERY would, once the time allowed
// is used up or the thread has to stop. A write that never waits costs nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

class THD;

namespace postern::mariadb {

/// Owned and used by the thread whose waits it bounds; one a thread.
class RowWait {
 public:
  /// A wait is also cut short when `stop` becomes true.
  explicit RowWait(const std::atomic<bool> &stop);
  ~RowWait();
  RowWait(const RowWait &) = delete;
  RowWait &operator=(const RowWait &) = delete;

  void set_thd(THD *thd) { thd_ = thd; }

  /// From now on all waits together may take `ms` milliseconds.
  void allow(int64_t ms);
  /// Whether waits are looked after just now; by default they are not.
  void watch(bool on) { watching_ = on; }
  /// Whether a wait was cut short since the last call, after which the thread may go on as if nobody had interrupted
  /// it. To be asked after every write.
  bool take_expired();
  /// Waits begun since the last call.
  uint64_t take_waits();

  /// For the thread's scheduler: the calling thread begins or ends a wait. A thread without a RowWait is left alone.
  static void on_begin();
  static void on_end();

 private:
  struct Timer;
  void begin();
  void end();
  void look();

  const std::atomic<bool> &stop_;
  std::unique_ptr<Timer> timer_;
  THD *thd_ = nullptr;
  int64_t left_us_ = 0;
  int64_t until_us_ = 0;  // written before the timer is set, read by the timer's thread
  uint64_t waits_ = 0;
  bool watching_ = false;
  bool running_ = false;
  std::atomic<bool> expired_{false};
};

}  // namespace postern::mariadb
