// step_ops.h: StepOps, the ops of one step of a command, with their arguments and replies.
//
// Owned by the command's Steps. Arguments live until the step is done, and replies until the first op of the next step
// is added.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/small_blocks.h"
#include "contract/edit.h"
#include "contract/op.h"
#include "redis/keyspace/open_maps.h"
#include "redis/work/lasting.h"
#include "redis/work/step_reply.h"

namespace postern::redis {

/// An Edit of a function `Decision(Row, Draft &)`.
template <class Function>
class EditBy final : public Edit {
 public:
  explicit EditBy(Function function) : function_(std::move(function)) {}
  Decision present(Row row, Draft &next) override { return function_(row, next); }

 private:
  Function function_;
};

class StepOps {
 public:
  StepReply &add_find(Verb verb, OpenTable &table, const Find &find);
  StepReply &add_insert(OpenTable &table, std::span<const Value> row, OnDuplicate on_duplicate, Edit *edit);
  StepReply &add_edit(OpenTable &table, const Find &find, Edit &edit, bool erases);
  /// Locks the rows that it finds without changing them.
  StepReply &add_look(OpenTable &table, const Find &find);
  StepReply &add_erase(OpenTable &table, const Find &find);
  StepReply &add_take(OpenTable &table, const Find &find);
  StepReply &add_op(const Op &op, OpenTable &table);
  /// The edit that was added last.
  EditRows &last_edit() { return edits_.back(); }

  std::span<const Value> values(std::initializer_list<Value> some);
  std::span<Value> values(size_t count);
  Bytes keep_text(std::string text) {
    begin();  // otherwise that would happen later, and drop the text with the previous step
    return texts_.add(std::move(text));
  }

  std::span<Op> ops() { return ops_; }
  size_t size() const { return replies_.size(); }
  StepReply &reply(size_t at) { return replies_[at]; }
  /// The table that was not open for an op; otherwise the op's table.
  OpenTable *failed_table(size_t at) const;

  /// Whether it has ops that have not run.
  bool is_to_be_run() const { return !was_run_ && !ops_.empty(); }
  /// Whether it ran with all ops added; false: nothing was added since the last run.
  bool was_run_now() { return !std::exchange(was_run_, true); }
  /// Forgets all that was added.
  void forget();
  /// Empty, and about to be run.
  void restart();
  /// Gives back its memory.
  void give_back();

 private:
  /// Called first by functions that add: drops the step that was run.
  void begin() {
    if (was_run_) restart();
  }
  void drop();
  Op &add(Verb verb, OpenTable &table);

  bool was_run_ = false;
  std::vector<Op, small_blocks::Allocator<Op>> ops_;
  std::vector<OpenTable *, small_blocks::Allocator<OpenTable *>> tables_;  // the ops'
  Lasting<StepReply, 4> replies_;
  Lasting<Find, 2> finds_;
  Lasting<Insert, 2> inserts_;
  Lasting<EditRows, 2> edits_;
  std::array<Value, 16> few_values_;
  size_t few_used_ = 0;
  Lasting<std::vector<Value>, 1> values_;  // when those are full
  Lasting<std::string, 1> texts_;
};

}  // namespace postern::redis
