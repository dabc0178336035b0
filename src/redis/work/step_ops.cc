#include "redis/work/step_ops.h"

#include <algorithm>

namespace postern::redis {
namespace {

/// The usual number of ops: a step that makes a key, adds one or two elements, and counts them.
constexpr size_t ops_usual = 4;

/// Deletes every row.
class EraseEdit final : public Edit {
 public:
  Decision present(Row, Draft &) override { return Decision::erase; }
};
EraseEdit erase_edit;

/// Keeps every row.
class KeepEdit final : public Edit {
 public:
  Decision present(Row, Draft &) override { return Decision::keep; }
};
KeepEdit keep_edit;

}  // namespace

void StepOps::forget() {
  was_run_ = true;
  drop();
}

void StepOps::restart() {
  was_run_ = false;
  drop();
}

void StepOps::drop() {
  ops_.clear();
  tables_.clear();
  replies_.clear();
  finds_.clear();
  inserts_.clear();
  edits_.clear();
  few_used_ = 0;
  values_.clear();
  texts_.clear();
}

void StepOps::give_back() {
  drop();
  ops_.shrink_to_fit();
  tables_.shrink_to_fit();
}

OpenTable *StepOps::failed_table(size_t at) const {
  // All ops of a step fail if one table could not be opened.
  const auto broken = std::find_if(tables_.begin(), tables_.end(),
                                   [](const OpenTable *table) { return table->failure != Failure::none; });
  return broken == tables_.end() ? tables_[at] : *broken;
}

Op &StepOps::add(Verb verb, OpenTable &table) {
  if (ops_.capacity() == 0) {  // one allocation each for most steps
    ops_.reserve(ops_usual);
    tables_.reserve(ops_usual);
  }
  Op &op = ops_.emplace_back();
  op.verb = verb;
  op.slot = &table.slot;
  op.reply = &replies_.add();
  tables_.push_back(&table);
  return op;
}

StepReply &StepOps::add_find(Verb verb, OpenTable &table, const Find &find) {
  begin();
  add(verb, table).find = &finds_.add(find);
  return replies_.back();
}

StepReply &StepOps::add_insert(OpenTable &table, std::span<const Value> row, OnDuplicate on_duplicate, Edit *edit) {
  begin();
  add(Verb::insert, table).insert = &inserts_.add(
      Insert{.values = row, .on_duplicate = on_duplicate, .edit = edit, .reads_old_values = edit != nullptr});
  return replies_.back();
}

StepReply &StepOps::add_edit(OpenTable &table, const Find &find, Edit &edit, bool erases) {
  begin();
  add(Verb::edit, table).edit =
      &edits_.add(EditRows{.find = find, .edit = &edit, .erases = erases, .reads_old_values = true});
  return replies_.back();
}

StepReply &StepOps::add_look(OpenTable &table, const Find &find) {
  StepReply &reply = add_edit(table, find, keep_edit, true);
  edits_.back().writes_too = true;
  return reply;
}

StepReply &StepOps::add_erase(OpenTable &table, const Find &find) {
  begin();
  add(Verb::edit, table).edit = &edits_.add(EditRows{.find = find, .edit = &erase_edit, .erases = true});
  return replies_.back();
}

StepReply &StepOps::add_take(OpenTable &table, const Find &find) {
  begin();
  add(Verb::edit, table).edit = &edits_.add(
      EditRows{.find = find, .edit = &erase_edit, .rows_wanted = true, .erases = true, .reads_old_values = true});
  return replies_.back();
}

StepReply &StepOps::add_op(const Op &op, OpenTable &table) {
  begin();
  Op &added = add(op.verb, table);
  StepReply &reply = replies_.back();
  added = op;
  added.reply = &reply;
  return reply;
}

std::span<const Value> StepOps::values(std::initializer_list<Value> some) {
  const std::span<Value> kept = values(some.size());
  std::copy(some.begin(), some.end(), kept.begin());
  return kept;
}

std::span<Value> StepOps::values(size_t count) {
  begin();
  if (few_values_.size() - few_used_ < count) return values_.add(std::vector<Value>(count));
  const std::span<Value> few(few_values_.data() + few_used_, count);
  few_used_ += count;
  std::fill(few.begin(), few.end(), Value{});
  return few;
}

}  // namespace postern::redis
