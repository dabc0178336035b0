#include "engine/server/server.h"

#include <algorithm>
#include <new>

#include "engine/runs/row_executor.h"
#include "engine/server/failures.h"

namespace postern::rows {

/// The steps are statements of one transaction.
Settlement RowExecutor::run_script(Op &op) {
  tables_.release_all();
  begin({&op, 1});
  Settlement settlement;
  op.progress = Progress::done;
  if (const Failure why = ops_.refusal_of_script(op); why != Failure::none) {
    ops_.refuse_script(op, why);
  } else {
    begin_row_waits();
    write_tables_.begin_script(thd(), certification_);
    bool undo = false;
    settlement = run_steps(op, nullptr, undo);
    const bool left = op.progress != Progress::done;
    // KILL of the thread ends a script that may compute for seconds. It would only compute anew.
    if ((left || !settlement.lasted()) && thread_->killed() && script_of(op)->may_last())
      settlement = {.failure = Failure::interrupted, .repeatable = false};
    // Ops left for later would be done twice.
    if (settlement.lasted() && left && cannot_be_undone(thd()))
      settlement = {.failure = Failure::table_busy, .repeatable = false};
    write_tables_.end_script(thd(), certification_, settlement, left || undo);
  }
  if (!settlement.lasted()) counters_->add(Counter::transactions_lost);
  end();
  return settlement;
}

/// `first`: its first step, if it has begun. `undo`: it is over, and nothing of it shall stay.
Settlement RowExecutor::run_steps(Op &op, const Script::Step *first, bool &undo) {
  Script &script = *script_of(op);
  Settlement settlement;
  one_view_ = script.reads_only();
  try {
    Script::Step step = first != nullptr ? *first : script.begin();
    while (settlement.lasted() && op.progress == Progress::done && !ends_script(step)) {
      settlement = run_step(op, step);
      if (settlement.lasted() && op.progress == Progress::done) step = script.next();
    }
    undo = step.what == Script::Step::What::undo;
    if (settlement.lasted() && op.progress == Progress::done) finish(op, Failure::none);
  } catch (const std::bad_alloc &) {
    settlement = {.failure = Failure::out_of_memory, .repeatable = !cannot_be_undone(thd())};
  }
  one_view_ = false;
  return settlement;
}

bool RowExecutor::ends_script(const Script::Step &step) {
  return step.what == Script::Step::What::commit || step.what == Script::Step::What::undo;
}

/// KILL QUERY ends the request; KILL takes the thread's identity, and the request is run again under another.
Settlement RowExecutor::interrupted() const {
  return {.failure = Failure::interrupted, .repeatable = thread_->killed()};
}

Settlement RowExecutor::run_step(Op &op, const Script::Step &step) {
  if (stop_.load(std::memory_order_relaxed)) return {.failure = Failure::stopping};
  if (is_interrupted()) return interrupted();
  bool failed = false;
  if (step.what == Script::Step::What::mark) failed = !write_tables_.set_mark(thd(), step.depth);
  if (step.what == Script::Step::What::back) failed = !write_tables_.go_back_to_mark(thd(), step.depth);
  if (failed) return {.failure = Failure::commit_failed, .repeatable = !cannot_be_undone(thd())};
  if (step.what == Script::Step::What::alone && lane() == Lane::turn) op.progress = Progress::needs_own_run;
  if (step.what != Script::Step::What::run || step.ops.empty()) return {};
  for (Op &one : step.ops) {
    one.identity = one.internal ? nullptr : op.identity;
    one.connection = op.connection;
  }
  const Settlement settlement = run_ops_of_step(step.ops);
  op.progress = step.ops[0].progress;
  // A script that may compute for seconds might catch the command's error, and go on.
  if (settlement.lasted() && lane() == Lane::alone && script_of(op)->may_last() && is_interrupted())
    return interrupted();
  return settlement;
}

/// All, or none of them.
Settlement RowExecutor::run_ops_of_step(std::span<Op> ops) {
  tables_.begin_batch();
  finder_.begin_batch(thd(), lane());
  const Unit all{0, static_cast<uint32_t>(ops.size()), true};
  const Order::OwnUnit unit(order_, ops);
  return still_open(run_statement({.ops = ops, .units = {&all, 1}, .lane = lane()}));
}

/// Ends a statement among others. The server may have ended their transaction with it, and would begin another.
Settlement RowExecutor::still_open(Settlement settlement) const {
  if (settlement.lasted() && !thd()->in_multi_stmt_transaction_mode()) settlement.failure = Failure::commit_failed;
  return settlement;
}

}  // namespace postern::rows
