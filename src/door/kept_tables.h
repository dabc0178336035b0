// kept_tables.h: KeptTables, how long a worker's executor keeps tables after a run: others want them, too.
//
// A worker has one. Whoever has the worker's loop touches it.
#pragma once

#include <cstdint>

#include "base/limits.h"
#include "contract/executor.h"

namespace postern::door {

class KeptTables {
 public:
  /// Whether they are kept for clients that may ask again at once.
  bool are_held() const { return held_; }
  /// How often the executor looks whether others want the tables that it keeps for longer; 0: it keeps none.
  int look_ms() const { return look_ms_; }
  bool is_look_due(int64_t now_ms) const { return look_ms_ != 0 && now_ms - rested_ms_ >= look_ms_; }

  /// Nothing came for a while: others must not wait for the tables that the executor holds.
  void rest(Executor &executor, int64_t now_ms) {
    look_ms_ = executor.rest();
    rested_ms_ = now_ms;
    held_ = false;
  }
  /// All of them.
  void give_up(Executor &executor) {
    executor.idle();
    look_ms_ = 0;
    held_ = false;
  }
  /// A batch has been run, in a turn of this time. A worker that keeps no tables for its clients sleeps without a
  /// timer: that would be set for each of their statements, and go off after the last.
  void note_run(Executor &executor, int64_t now_ms) {
    run_ms_ = now_ms;
    held_ = executor.keeps_tables();
    if (!held_ && look_ms_ == 0) rest(executor, now_ms);
  }
  /// A turn had nothing to run: bytes that never become a request wake the worker again and again, which is no reason
  /// to hold tables.
  void note_no_run(Executor &executor, int64_t now_ms) {
    if (held_ && now_ms - run_ms_ > limits::linger_ms) rest(executor, now_ms);
  }

 private:
  bool held_ = false;
  int look_ms_ = 0;
  int64_t rested_ms_ = 0;
  int64_t run_ms_ = 0;  // when the turn began that last ran a batch
};

}  // namespace postern::door
