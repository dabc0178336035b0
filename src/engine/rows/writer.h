// writer.h: Writer, which inserts, changes, deletes and locks rows of tables that are open and locked for writing.
//
// It works as SQL does: by the server's own conversions, defaults, constraints and triggers, in strict mode whatever
// the global sql_mode. Ops of many connections share one statement, so an op that is run among others must leave
// nothing when it fails: it changes one row, and that change is its last step. Some failures are known to occur before
// the change; any other fails the whole run, which is undone and run again (WriteOp::fail_to_change). Any op that may
// need more than that is left to be run alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/counters.h"
#include "contract/op.h"
#include "engine/server/row_change.h"
#include "engine/server/row_wait.h"
#include "engine/rows/held_row.h"
#include "engine/rows/walk.h"
#include "engine/rows/write_op.h"

namespace postern::rows {

/// Runs the writes of one executor, one after the other.
class Writer {
 public:
  Writer(Counters *counters, RowWait &row_wait, const std::atomic<bool> &stop);
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  /// `alone`: the run has one op and is undone as a whole if that fails; then it may wait `alone_row_wait_ms` for rows,
  /// and at most `row_wait_ms` once it has changed others.
  void begin_batch(THD *thd, bool alone, int64_t row_wait_ms, int alone_row_wait_ms);
  /// In a turn: whether the statement is that of a step, which is undone as a whole if an op fails.
  void set_step(bool step) { write_.step = step; }
  /// Whether the statement is undone as a whole if an op fails, after which each script begins anew by itself: rows may
  /// be held in it, until store_held().
  void set_holding(bool holding) {
    holding_ = holding;
    held_.forget();
  }
  /// Stores the held row, before the statement ends or anything reads it. False: the statement has to be undone.
  bool store_held() { return held_.table() == nullptr || store(*held_.table()); }
  /// Runs an insert, an edit or a lock and passes its reply the outcome, unless it is left for later.
  void run(Op &op, OpenTable &table);

  /// If it has not lasted, the transaction is gone, with all earlier writes of the run.
  const Settlement &lost() const { return write_.lost(); }
  /// The same, at the end of the run: the next one may be without writes and must not see it.
  Settlement take_lost() { return write_.take_lost(); }
  /// Called when an exception has interrupted the op.
  void break_off() {
    row_wait_.watch(false);
    change_.end();
    held_.forget();
    row_wait_.take_expired();
    write_.take_lost();
  }
  /// Whether the op that was run alone has failed or was left, so that its changes have to be undone.
  bool undo() const { return undo_; }

 private:
  Step insert(const Insert &insert);
  bool knows_its_row(const Insert &insert) const;
  Step update_row_met(const Insert &insert, bool &met);
  Step update_row_after_all(const Insert &insert);
  Step write_new_row();
  Step refuse(Decision decision);
  Step update_duplicate(int met);
  Step update_row_there(const Insert &insert);
  int read_duplicate(uint32_t key);
  int read_same_key(uint32_t key);
  int finish_duplicate(int code);

  Step edit(const EditRows &edit);
  Step lock(const Find &find);
  Step open_index();
  Step edit_first(const EditRows &edit);
  Step edit_all(const EditRows &edit);
  Step erase_all(const EditRows &edit);
  template <class Visit>
  Step walk(Visit visit);
  template <class Visit>
  Step walk_key(Visit visit);
  Step edit_row(const EditRows &edit);
  Step change_row();
  std::span<const Value> key_of_row(const Op &op) const;
  void hold_row();
  Step make_way(const OpenTable &table);
  bool store(OpenTable &held);
  bool is_for_one_row(const Find &find) const;

  Counters *const counters_;
  RowWait &row_wait_;
  bool undo_ = false;

  WriteOp write_;
  RowChange change_;
  uint64_t examined_ = 0;  // in the running op
  // The last op on this table has locked the row in record[0] and kept it; whether the running op is on that row.
  const TABLE *row_at_hand_ = nullptr;
  bool at_hand_ = false;
  bool holding_ = false;
  HeldRow held_;
  std::span<const Value> row_key_;  // the running op's row, if it is a single row that may be held
  bool on_held_ = false;            // it is
  Op storing_{};                    // stands for an op when a held row is stored after all ops
  Walk walk_;                       // the running edit's
  std::vector<uchar> key_;
  std::vector<uchar> places_;  // of the rows to edit, one after the other
};

}  // namespace postern::rows
