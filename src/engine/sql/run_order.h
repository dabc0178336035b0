// run_order.h: RunOrder, the order in which an executor does the ops of a run: which ops wait for one that was left,
// and how a unit ends.
//
// Belongs to one executor and is used on its thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "contract/executor.h"
#include "contract/unit_replies.h"

namespace postern::sql {

/// How to end the transaction of a unit that runs alone.
enum class UnitEnds : uint8_t {
  commit,
  roll_back,
  run_again,  ///< roll back, and run it once more without the failed op
};

/// `Hands` is the executor, which RunOrder calls:
///
///     void execute_next(Op &)                  runs an op: its progress says whether it is done or left
///     void pass_by(std::span<const Op>)        these are not run now
///     bool lost() const                        the transaction is gone: there is no going on
///     bool can_undo() const                    the transaction so far can be undone
///     bool write_any(std::span<const Op>) const
///     Counters *counters() const
template <class Hands>
class RunOrder {
 public:
  explicit RunOrder(Hands &hands) : hands_(hands) {}

  /// Begins a run: no connection is held up.
  void begin() { held_up_.reset(); }

  /// Whether an op has to wait because an earlier one of its connection was left.
  bool is_held_up(const Op &op) const { return held_up_ == op.connection; }
  void hold_up(const Op &op) { held_up_ = op.connection; }

  /// Marks a unit that has transactions of its own while this lives. Throws std::bad_alloc.
  class OwnUnit {
   public:
    OwnUnit(RunOrder &order, std::span<Op> ops) : order_(order), replies_(ops) {
      order_.own_ = &replies_;
      order_.ends_ = UnitEnds::commit;
    }
    ~OwnUnit() { order_.own_ = nullptr; }
    OwnUnit(const OwnUnit &) = delete;
    OwnUnit &operator=(const OwnUnit &) = delete;

    /// Whether it has to be run again; true once each time.
    bool take_again() {
      if (order_.ends_ != UnitEnds::run_again) return false;
      order_.ends_ = UnitEnds::commit;
      return true;
    }

   private:
    RunOrder &order_;
    UnitReplies replies_;
  };
  bool in_own_unit() const { return own_ != nullptr; }
  /// How to end that unit's transaction, when its ops were executed.
  UnitEnds ends() const { return ends_; }

  /// Executes ops and units in order, until all are done or left, or the transaction is lost.
  void execute_all(const Run &run, Watcher *watcher) {
    const Unit *unit = run.units.data();
    const Unit *const units_end = unit + run.units.size();
    for (size_t at = 0; at != run.ops.size();) {
      const bool is_unit = unit != units_end && unit->first == at;
      const std::span<Op> ops = run.ops.subspan(at, is_unit ? unit->count : 1);
      at += ops.size();
      if (is_held_up(ops[0])) {
        leave(ops, Progress::waiting);
      } else if (is_unit) {
        execute_unit(ops, unit->atomic);
      } else {
        hands_.execute_next(ops[0]);
      }
      if (is_unit) ++unit;
      if (ops[0].progress != Progress::done) {
        hold_up(ops[0]);
      } else if (watcher != nullptr) {
        for (const Op &op : ops) watcher->op_done(op);
      }
      if (hands_.lost()) return;
    }
  }

 private:
  /// Leaves the ops for later; none was executed.
  void leave(std::span<Op> ops, Progress progress) {
    hands_.pass_by(ops);
    wait_behind(ops, progress);
  }

  static void wait_behind(std::span<Op> ops, Progress progress) {
    for (Op &op : ops) op.progress = Progress::waiting;
    ops[0].progress = progress;
  }

  /// A unit that writes needs a transaction of its own.
  void execute_unit(std::span<Op> ops, bool atomic) {
    if (own_ != nullptr) return execute_unit(ops, atomic, *own_);
    if (hands_.write_any(ops)) return leave(ops, Progress::needs_own_run);
    UnitReplies replies(ops);
    execute_unit(ops, atomic, replies);
  }

  void execute_unit(std::span<Op> ops, bool atomic, UnitReplies &replies) {
    for (size_t i = 0; i < ops.size(); ++i) {
      Op &op = ops[i];
      if (replies.failure_kept(i)) {
        hands_.pass_by({&op, 1});
        replies.tell_kept(i);
        continue;
      }
      hands_.execute_next(op);
      if (hands_.lost()) return;
      if (op.progress == Progress::done && !replies.failed(i)) continue;
      const std::span<Op> rest = ops.subspan(i + 1);
      if (op.progress != Progress::done) {
        const Progress left = op.progress;
        hands_.pass_by(rest);
        replies.restart();
        ends_ = UnitEnds::roll_back;
        return wait_behind(ops, left == Progress::busy || left == Progress::locked ? left : Progress::needs_own_run);
      }
      if (atomic) {
        hands_.pass_by(rest);
        ends_ = UnitEnds::roll_back;
        return replies.fail_all(i, hands_.counters());
      }
      if (writes(op.verb) && hands_.can_undo()) {
        replies.keep_failure(i);
        replies.restart();
        ends_ = UnitEnds::run_again;
        return;
      }
    }
  }

  Hands &hands_;
  std::optional<uint32_t> held_up_{};  // the connection with the next op of the run that cannot run now
  UnitReplies *own_ = nullptr;         // for the unit that runs alone
  UnitEnds ends_ = UnitEnds::commit;   // that unit's
};

}  // namespace postern::sql
