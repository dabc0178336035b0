#include "door/connections/turn.h"

#include <memory>
#include <new>
#include <utility>

namespace postern::door {
namespace {

/// Not inlined, because its caller visits every op of a turn.
[[gnu::noinline]] bool statement_awaits_commit(const Statement &statement) {
  return statement.plan != nullptr && statement.plan->writes() && statement.values.size() == statement.plan->values() &&
         !statement.session->in_transaction();
}

/// Whether the op is answered only after its commit, which may have to wait for the disk.
inline bool awaits_commit(const Op &op) {
  return op.verb == Verb::statement ? statement_awaits_commit(*op.statement) : writes(op.verb);
}

}  // namespace

bool Turn::is_one_command() const {
  if (batch_.size() != 1 || slices_.size() != 1) return false;
  const Op &op = batch_.ops()[0];
  return op.verb == Verb::statement && op.statement->plan == nullptr;
}

void Turn::add_put_off(const PutOff &left) {
  const size_t first = batch_.size();
  if (left.ops.size() > room() && first != 0) return;
  for (const Op &op : left.ops) batch_.add(op);
  for (const Unit &unit : left.units)
    batch_.add(Unit{unit.first + static_cast<uint32_t>(first), unit.count, unit.atomic});
}

void Turn::put_off(const Slice &slice, std::span<const Op> left, std::unique_ptr<PutOff> &spare) {
  if (!slice.connection->has_put_off()) {
    std::unique_ptr<PutOff> fresh = spare != nullptr ? std::move(spare) : std::make_unique<PutOff>();
    if (!fresh->arena.keep(batch_.arena(), slice.arena_from, slice.arena_to)) throw std::bad_alloc();
    slice.connection->put_off(std::move(fresh));
  }
  PutOff &kept = slice.connection->put_off();
  // An op that has to run alone counts as waiting since the first time, too.
  const Progress progress = left.front().progress;
  const bool waits_on =
      left.size() == slice.count && (progress == Progress::busy || progress == Progress::needs_own_run);
  if (!waits_on) kept.busy_since_ms = -1;
  // A find may have been paused only because of earlier output. It comes first in its next turn, which begins below
  // high water.
  kept.ops.assign(left.begin(), left.end());
  const std::span<const Unit> units = units_of(left);
  kept.units.assign(units.begin(), units.end());
}

void Turn::add_copy(Turn &from, const Slice &slice) {
  const std::span<const Op> ops = from.ops_of(slice);
  Slice copy = slice;
  copy.first = batch_.size();
  batch_.begin(static_cast<uint32_t>(slices_.size()));
  for (Unit unit : from.units_of(ops)) {
    unit.first += static_cast<uint32_t>(copy.first);
    batch_.add(unit);
  }
  for (const Op &op : ops) batch_.add(op);
  slices_.push_back(copy);
}

void Turn::take_progress(const Slice &slice, std::span<const Op> copies) {
  const std::span<Op> ops = ops_of(slice);
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i].progress = copies[i].progress;
    ops[i].rows_sent = copies[i].rows_sent;
    ops[i].rows_examined = copies[i].rows_examined;
  }
}

size_t Turn::put_readers_first() {
  if (slices_.size() == 1) return writes_anything(slices_[0]) ? 0 : 1;
  // Writers keep their order: if keys rise with time, rows are then inserted in index order.
  writers_.clear();
  reordered_.clear();
  reordered_units_.clear();
  try {
    writers_.reserve(slices_.size());
    reordered_.reserve(batch_.size());
    units_.reserve(batch_.units().size());
    reordered_units_.reserve(batch_.units().size());
  } catch (const std::bad_alloc &) {
    return 0;
  }
  size_t readers = 0;
  for (const Slice &slice : slices_) {
    if (writes_anything(slice)) {
      writers_.push_back(slice);
    } else {
      if (!writers_.empty()) slices_[readers] = slice;
      ++readers;
    }
  }
  if (readers == 0 || readers == slices_.size()) return readers;
  std::copy(writers_.begin(), writers_.end(), slices_.begin() + static_cast<ptrdiff_t>(readers));
  for (Slice &slice : slices_) {
    const size_t first = reordered_.size();
    for (Unit unit : units_of(ops_of(slice))) {
      unit.first += static_cast<uint32_t>(first);
      reordered_units_.push_back(unit);
    }
    for (const Op &op : ops_of(slice)) reordered_.push_back(op);
    slice.first = first;
  }
  batch_.exchange(reordered_, reordered_units_);
  return readers;
}

size_t Turn::put_unflushed_last(std::span<Slice> slices) {
  const auto behind = std::partition(slices.begin(), slices.end(), [this](Slice &slice) {
    const std::span<Op> ops = ops_of(slice);
    slice.unflushed = std::any_of(ops.begin(), ops.end(), [](const Op &op) { return op.unflushed; });
    return !slice.unflushed;
  });
  return static_cast<size_t>(behind - slices.begin());
}

bool Turn::writes_anything(const Slice &slice) {
  for (const Op &op : ops_of(slice))
    if (awaits_commit(op)) return true;
  return false;
}

/// With few clients all of them would wait for the last answer of a turn, and then the worker for all of them: with
/// four clients that costs a third of the speed. With many clients some ask anyway while others are answered, and an
/// uninterrupted run finds its data in the processor's cache, unless long replies have displaced it.
void Turn::run(Executor &executor, std::span<Slice> slices, Watcher *watcher, Counters &counters,
               bool answers_may_wait) {
  const std::span<Op> ops = ops_of_all(slices);
  running_ = slices.data();
  sends_early_ = slices.size() <= limits::connections_sent_early_max || ops.size() <= limits::ops_sent_early_max;
  const Settlement settlement =
      executor.run({.ops = ops, .units = units_of(ops), .watcher = watcher, .answers_may_wait = answers_may_wait});
  if (settlement.lasted()) return;
  if (settlement.repeatable) return run_again(executor, slices, counters);
  for (const Slice &slice : slices)
    if (!slice.sent) refuse(slice, settlement, counters);
}

/// The transaction of the whole batch is lost, and nothing of it has been answered. Every connection gets a transaction
/// of its own; if that is lost, too, its ops leave for the slow lane, where each op or unit has one.
void Turn::run_again(Executor &executor, std::span<const Slice> slices, Counters &counters) {
  for (const Slice &slice : slices)
    if (!slice.sent) rewind_replies(slice);
  for (const Slice &slice : slices) {
    if (slice.sent) continue;
    const std::span<Op> ops = ops_of(slice);
    const Settlement settlement = executor.run({.ops = ops, .units = units_of(ops)});
    if (settlement.lasted()) continue;
    if (!settlement.repeatable) {
      refuse(slice, settlement, counters);
      continue;
    }
    rewind_replies(slice);
    for (Op &op : ops) op.progress = Progress::waiting;
  }
}

/// Ops that the slice left stay left. Readers, including the door itself, may ask again.
void Turn::refuse(const Slice &slice, const Settlement &settlement, Counters &counters) {
  rewind_replies(slice);
  for (Op &op : ops_of(slice)) {
    if (op.progress != Progress::done) continue;
    const Outcome outcome = writes(op.verb) ? settlement.outcome() : Outcome{.failure = Failure::commit_failed};
    count_failure(counters, op, outcome.failure);
    op.reply->done(outcome);
  }
}

void Turn::rewind_replies(const Slice &slice) {
  slice.connection->output.rewind(slice.mark);
  for (const Op &op : ops_of(slice)) op.reply->restart();
}

}  // namespace postern::door
