// kept_tables.h: KeptTables, which decides how long a worker's executor keeps tables after a run, because other
// sessions need them, too.
//
// A worker has one. Used by the thread that has the worker's loop.
#pragma once

#include <cstdint>

#include "base/limits.h"
#include "contract/executor.h"

namespace postern::door {

class KeptTables {
 public:
  /// Whether tables are kept for clients that may ask again at once.
  bool are_held() const { return held_; }
  /// How often, in milliseconds, the executor checks whether others want the tables that it keeps longer; 0: it keeps
  /// none.
  int look_ms() const { return look_ms_; }
  bool is_look_due(int64_t now_ms) const { return look_ms_ != 0 && now_ms - rested_ms_ >= look_ms_; }

  /// Called when nothing came for a while: others must not wait for tables that the executor holds.
  void rest(Executor &executor, int64_t now_ms) {
    look_ms_ = executor.rest();
    rested_ms_ = now_ms;
    held_ = false;
  }
  /// Gives up all tables.
  void give_up(Executor &executor) {
    executor.idle();
    look_ms_ = 0;
    held_ = false;
  }
  /// Notes that a turn of this time has run a batch. A worker that keeps no tables sleeps without a timer: otherwise
  /// each statement would set it, and the last would make it fire.
  void note_run(Executor &executor, int64_t now_ms) {
    run_ms_ = now_ms;
    held_ = executor.keeps_tables();
    if (!held_ && look_ms_ == 0) rest(executor, now_ms);
  }
  /// Notes a turn without a run: bytes that never become a request may wake the worker again and again, which is no
  /// reason to hold tables.
  void note_no_run(Executor &executor, int64_t now_ms) {
    if (held_ && now_ms - run_ms_ > limits::linger_ms) rest(executor, now_ms);
  }

 private:
  bool held_ = false;
  int look_ms_ = 0;
  int64_t rested_ms_ = 0;
  int64_t run_ms_ = 0;  // when the last turn with a batch began
};

}  // namespace postern::door
