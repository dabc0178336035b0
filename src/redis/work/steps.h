// steps.h: Steps, a command of several steps in one transaction, each decided on the results of the one before.
//
// A command derives a class, usually from Work, and implements run(), a coroutine: it adds ops, waits for them, and
// reads their replies. If an op fails the command ends: all of it is undone, and the client gets that op's failure. The
// answer of run() is held until the transaction is committed. run() may be called again, and must begin from scratch
// then.
#pragma once

#include <coroutine>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "base/passage.h"
#include "contract/script.h"
#include "redis/announcing.h"
#include "redis/call.h"
#include "redis/tables.h"
#include "redis/work/step_ops.h"
#include "redis/work/task.h"

namespace postern::redis {

class Steps : public Kept, public Script, public Reply {
 public:
  using Step = Script::Step;
  bool suits_turn() const final { return small_; }
  bool reads_only() const final { return reads_only_; }
  Joins joins() const final { return ends_at_once_ ? Joins::all : Joins::none; }
  /// Called before begin() by a command that locks and writes nothing: all its steps then share one read view.
  void set_reads_only() { reads_only_ = true; }
  /// The same for a command that is too much for a shared turn.
  void set_large() { small_ = false; }
  Step begin() final;
  Step next() final;
  Flow row(Row) final { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() final { passage_.take_back(); }

 protected:
  /// A small command does so little that it may share a turn.
  Steps(Output &output, Resp resp, bool small) : output_(output), passage_(output), resp_(resp), small_(small) {}

  virtual Task<> run() = 0;
  /// An op has failed, and so the command fails.
  virtual void failed([[maybe_unused]] const StepReply &step) {}
  /// Whether run() continues after a step with this failure. The step was undone.
  virtual bool bears([[maybe_unused]] Failure failure) const { return false; }

  /// The answer's output.
  Writer writer() { return {answer_, resp_}; }
  /// Drops the answer so far.
  void unanswer() {
    answer_.rewind(answer_start_);
    answer_.take_errors();
  }
  Resp resp() const { return resp_; }

  // The ops of the next step. Their arguments live until the step is done, and their replies until the first op of the
  // next step is added.

  static constexpr uint64_t all = std::numeric_limits<uint64_t>::max();
  StepReply &add_lock(OpenTable &table, const Find &find) { return step_.add_find(Verb::lock, table, find); }
  StepReply &add_find(OpenTable &table, const Find &find) { return step_.add_find(Verb::find, table, find); }
  StepReply &add_insert(OpenTable &table, std::initializer_list<Value> row, OnDuplicate on_duplicate,
                        Edit *edit = nullptr) {
    return step_.add_insert(table, step_.values(row), on_duplicate, edit);
  }
  StepReply &add_insert(OpenTable &table, std::span<const Value> row, OnDuplicate on_duplicate, Edit *edit = nullptr) {
    return step_.add_insert(table, row, on_duplicate, edit);
  }
  StepReply &add_edit(OpenTable &table, const Find &find, Edit &edit, bool erases = false) {
    return step_.add_edit(table, find, edit, erases);
  }
  StepReply &add_erase(OpenTable &table, const Find &find) { return step_.add_erase(table, find); }
  /// The same; the reply receives the rows.
  StepReply &add_take(OpenTable &table, const Find &find) { return step_.add_take(table, find); }
  /// Adds an op that was made elsewhere, without its reply.
  StepReply &add_op(const Op &op, OpenTable &table) { return step_.add_op(op, table); }
  /// Values that live until the step is done.
  std::span<const Value> values(std::initializer_list<Value> some) { return step_.values(some); }
  std::span<Value> values(size_t count) { return step_.values(count); }
  /// A copy that lives until the step is done.
  Bytes keep_text(std::string text) { return step_.keep_text(std::move(text)); }
  StepOps &step() { return step_; }

  struct Waiter {
    Steps &steps;
    bool at_once;
    bool await_ready() const noexcept { return !steps.step_.is_to_be_run(); }
    void await_suspend(std::coroutine_handle<> waiting) const noexcept {
      steps.waiting_ = waiting;
      steps.at_once_ = at_once;
    }
    void await_resume() const noexcept { steps.at_once_ = false; }
  };
  /// Waits for the step.
  Waiter go() { return {*this, false}; }
  /// Waits for a step that contains all of the command; if that is refused, the command has done nothing.
  Waiter go_at_once() { return {*this, true}; }
  /// The command usually needs a single step of go_at_once().
  void set_ends_at_once() { ends_at_once_ = true; }

  /// Reports the keys that the command erases to the client's session.
  void tell_erased_to(Call &call);
  /// Notes that the key was erased.
  void note_erased(Bytes prefix, Bytes key, ErasedKeys::Why why) {
    if (erased_ != nullptr) erased_->note(prefix, key, why);
  }

 private:
  bool is_borne(const StepReply &reply) const {
    return reply.failure == Failure::none || (at_once_ && reply.failure == Failure::refused) || bears(reply.failure);
  }
  void give_back();

  Output &output_;
  Passage passage_;
  const Resp resp_;
  bool small_;
  bool reads_only_ = false;

  Output answer_;
  Output::Mark answer_start_ = 0;
  Task<> task_;
  std::coroutine_handle<> waiting_{};
  StepOps step_;
  bool ends_at_once_ = false;
  bool at_once_ = false;                // it waits for a step of go_at_once()
  std::unique_ptr<ErasedKeys> erased_;  // nullptr: not reported
  ErasedKeys *erased_to_ = nullptr;
  Failure failure_ = Failure::none;  // the failure of the op that ended it
  std::string message_;
  OpenTable *failed_table_ = nullptr;
};

/// Adds the op of a command of several steps.
Next begin_work(Call &call, Steps &steps);
/// For a command that only reads; in EXEC it locks the rows that it reads.
Next begin_reading_work(Call &call, Steps &steps);

}  // namespace postern::redis
