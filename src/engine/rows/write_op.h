// write_op.h: WriteOp, the current write: its op, its table and its outcome.
//
// Belongs to one executor's Writer, and is used on its thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/counters.h"
#include "contract/executor.h"
#include "contract/op.h"
#include "engine/server/failures.h"
#include "engine/server/row_wait.h"
#include "engine/rows/write_tables.h"

namespace postern::rows {

/// The outcome of a step. Anything but `good` ends the op; WriteOp has the reason.
enum class Step : uint8_t { good, failed, left };

class WriteOp {
 public:
  WriteOp(Counters *counters, RowWait &row_wait, const std::atomic<bool> &stop)
      : counters_(counters), row_wait_(row_wait), stop_(stop) {}
  WriteOp(const WriteOp &) = delete;
  WriteOp &operator=(const WriteOp &) = delete;

  // The batch's; `alone`: it is one op and is undone as a whole if that fails.
  THD *thd = nullptr;
  bool alone = false;
  /// Its statement is a script's step in a turn, which is undone as a whole, too.
  bool step = false;

  Op *op = nullptr;
  OpenTable *table = nullptr;
  Outcome outcome;
  ServerError error;

  void begin_batch(THD *its_thd, bool is_alone, int64_t row_wait_ms, int alone_row_wait_ms);
  void begin(Op &its_op, OpenTable &its_table) {
    op = &its_op;
    table = &its_table;
    outcome = {};
    error.clear();
    op->progress = Progress::done;
  }

  /// Called right before each call that changes a row. Earlier waits of the op do not count for that call: see
  /// fail_to_change().
  void begin_change() { row_wait_.forget_last(); }

  /// Whether it was killed, or the thread has to stop.
  bool must_end() const { return thd->killed || stop_.load(std::memory_order_relaxed); }

  /// Notes that a row of the table has changed.
  void changed_row(Counter counter) {
    table->target->changed = true;
    counters_->add(counter);
    if (alone) changed_row_alone();
  }

  Step fail(Failure failure, ServerError its_error = {});
  /// Fails with the error that the server has set.
  Step fail_as_told(Failure failure);
  /// Fails with a code of the storage engine, from a call that changes nothing.
  Step fail_with(int code);
  /// Fails with a code of the storage engine, from a call that changes rows. Among other ops it fails the whole run, to
  /// be run again, unless the code implies that nothing changed: otherwise a partial change would be committed with
  /// them, and never reach the binary log.
  Step fail_to_change(int code);
  /// Fails by KILL, or because the thread has to stop. In that case the op stays without an answer, so later ones must
  /// not be done either.
  Step fail_interrupted();
  Step leave(Progress progress);

  /// Not lasting: the transaction is gone, with everything that the run wrote before.
  const Settlement &lost() const { return lost_; }
  Settlement take_lost() { return std::exchange(lost_, {}); }

 private:
  void changed_row_alone();
  Step lose(Failure failure, int code);
  bool waited_too_long(int code) const;
  bool left_the_row(int code) const;

  Counters *const counters_;
  RowWait &row_wait_;
  const std::atomic<bool> &stop_;
  int64_t row_wait_ms_ = 0;  // the server's
  int alone_row_wait_ms_ = 0;
  uint64_t began_us_ = 0;
  Settlement lost_;
};

}  // namespace postern::rows
