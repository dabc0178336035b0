#include "engine/server/server.h"

#include <algorithm>
#include <new>
#include <optional>

#include "engine/runs/row_executor.h"
#include "engine/server/failures.h"

namespace postern::rows {

/// Scripts in a turn: they, and the ops that stand between them, are statements of one transaction.
Settlement RowExecutor::run_statements(const Run &run) {
  tables_.release_all();
  begin(run.ops);
  begin_row_waits();
  write_tables_.begin_script(thd(), certification_);
  Settlement settlement;
  try {
    for (size_t at = 0; at != run.ops.size() && settlement.lasted();) {
      if (suits_turn(run.ops[at])) {
        size_t count = 0;
        settlement = run_scripts(run.ops.subspan(at), count);
        at += count;
        continue;
      }
      const auto end = std::find_if(run.ops.begin() + static_cast<ptrdiff_t>(at), run.ops.end(), suits_turn);
      const auto count = static_cast<size_t>(end - run.ops.begin()) - at;
      units_.clear();
      add_units_within(run.units, at, count, units_);
      tables_.begin_batch();
      settlement = still_open(run_statement({.ops = run.ops.subspan(at, count), .units = units_, .lane = lane()}));
      at += count;
    }
  } catch (const std::bad_alloc &) {
    settlement = {.failure = Failure::out_of_memory};
  }
  write_tables_.end_script(thd(), certification_, settlement, false);
  if (!settlement.lasted()) counters_->add(Counter::transactions_lost);
  end();
  return settlement;
}

bool RowExecutor::may_join(const Op &op, const Op *before) const {
  const bool joins = suits_turn(op) && op.script->joins() != Script::Joins::none && !order_.is_held_up(op) &&
                     ops_.refusal_of_script(op) == Failure::none;
  if (!joins || before == nullptr || before->connection != op.connection) return joins;
  return op.script->joins() == Script::Joins::all && before->script->joins() == Script::Joins::all;
}

void RowExecutor::add_together(const Op &op, std::span<const Op> step) {
  for (const Op &its : step) {
    Op &one = together_.emplace_back(its);
    one.identity = one.internal ? nullptr : op.identity;
    one.connection = op.connection;
    one.tentative = true;
  }
}

/// The first script, or several that begin with their last steps; these are one statement. `count`: how many are done
/// or left.
Settlement RowExecutor::run_scripts(std::span<Op> ops, size_t &count) {
  std::optional<Script::Step> first;
  together_.clear();
  const size_t most = std::min(ops.size(), together_max_);
  for (count = 0; count != most && may_join(ops[count], count == 0 ? nullptr : &ops[count - 1]); ++count) {
    const Script::Step step = ops[count].script->begin();
    if (count == 0) first = step;
    if (step.what != Script::Step::What::run || !step.last) break;
    add_together(ops[count], step.ops);
  }
  if (count < 2) {
    count = 1;
    if (together_max_ < scripts_together_max) ++together_max_;
    return run_script_in_turn(ops[0], first.has_value() ? &*first : nullptr);
  }
  bool done = false;
  Settlement settlement = run_together(ops.first(count), done);
  if (done || !settlement.lasted()) return settlement;
  for (size_t i = 0; i != count && settlement.lasted(); ++i) settlement = run_script_in_turn(ops[i]);
  return settlement;
}

/// `done`: none has failed or was left. Otherwise all are undone, and each has to begin anew. If scripts fail often
/// fewer are tried together.
Settlement RowExecutor::run_together(std::span<Op> scripts, bool &done) {
  if (stop_.load(std::memory_order_relaxed)) return {.failure = Failure::stopping};
  if (thd()->killed) return {};
  tentative_ = true;
  writer_.set_step(true);
  writer_.set_holding(true);
  Settlement settlement;
  try {
    settlement = run_ops_of_step(together_);
  } catch (const std::bad_alloc &) {
    settlement = {.failure = Failure::out_of_memory, .repeatable = !cannot_be_undone(thd())};
  }
  writer_.set_holding(false);
  writer_.set_step(false);
  tentative_ = false;
  if (!settlement.lasted()) return settlement;
  done = together_[0].progress == Progress::done && order_.ends() == sql::UnitEnds::commit;
  if (!done) {
    together_max_ = std::max<size_t>(scripts.size() / 2, 1);
    order_.begin();  // it was the first of them that was left
    for (size_t i = scripts.size(); i-- != 0;) scripts[i].reply->restart();
    return settlement;
  }
  if (together_max_ < scripts_together_max) ++together_max_;
  for (Op &op : scripts) {
    op.progress = Progress::done;
    if (op.script->next().what != Script::Step::What::commit) return {.failure = Failure::internal};
    finish(op, Failure::none);
  }
  return settlement;
}

/// A step that fails, or is left, is undone by itself. What cannot be undone so takes the whole run along.
Settlement RowExecutor::run_script_in_turn(Op &op, const Script::Step *first) {
  if (order_.is_held_up(op)) {
    op.progress = Progress::waiting;
    return {};
  }
  op.progress = Progress::done;
  if (const Failure why = ops_.refusal_of_script(op); why != Failure::none) {
    ops_.refuse_script(op, why);
    return {};
  }
  write_tables_.take_changed();
  bool undo = false;
  writer_.set_step(true);
  const Settlement settlement = run_steps(op, first, undo);
  writer_.set_step(false);
  const bool left = op.progress != Progress::done;
  if (left) order_.hold_up(op);
  if (settlement.lasted() && (left || undo) && write_tables_.take_changed()) return {.failure = Failure::row_locked};
  return settlement;
}

}  // namespace postern::rows
