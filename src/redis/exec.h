// exec.h: Exec, the commands of a transaction as one op: a script that runs them one by one.
//
// A failed command alone is undone, and its error stands in its place; the others remain.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/passage.h"
#include "contract/script.h"
#include "contract/unit_replies.h"
#include "redis/call.h"
#include "redis/transaction.h"

namespace postern::redis {

class Exec final : public Kept, public Script, public Reply {
 public:
  Exec(Call &call, std::unique_ptr<Program> program);

  /// Adds the ops of all commands.
  Next begin_in(Call &call);

  bool suits_turn() const override;
  bool may_last() const override;
  Joins joins() const override { return tries_groups() && check_ops_.empty() ? Joins::other_connections : Joins::none; }
  Step begin() override;
  Step next() override;
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() override;

 private:
  /// More leave the turn to others.
  static constexpr size_t ops_in_turn_max = 32;

  /// A watched key's state when EXEC comes.
  struct Check {
    Watched &before;
    Print now{};
    Find find{};
    std::unique_ptr<PrintReply> reply{};
  };

  void add_checks(Call &call);
  void add_commands(Call &call);
  void add_command(Call &call, const Queued &queued);
  /// Ops that open tables run before the script; the others are its own.
  void take_ops(Batch &batch, size_t first);
  Next add_reading(Call &call);
  bool writes_anything() const;

  bool watched_changed() const;
  Step begin_commands();
  Step advance();
  bool tries_groups() const { return may_group_ && !one_by_one_; }
  bool is_nested(const Op &op) const {
    return op.verb == Verb::script || (!tries_groups() && script_of(op) != nullptr);
  }
  std::span<Op> plain_ops();
  Step run_plain();
  bool group_failed();
  Step run_nested(Step step);
  /// True: all commands have to be undone because of it.
  bool end_command();
  void restart_ops();

  RedisSession &session_;
  Output &output_;
  Passage passage_;
  const Resp resp_;
  const bool rolls_back_;
  const std::unique_ptr<Program> program_;
  std::deque<Check> checks_;
  std::vector<Op> check_ops_;
  std::vector<Op> ops_;       // of all commands, in order
  std::vector<size_t> ends_;  // each command's, among them
  // A group of commands, run in one step, without the scripts that stand in for ops. If the group fails they are run
  // one by one.
  bool may_group_ = false;
  bool one_by_one_ = false;
  size_t group_begin_ = 0;
  size_t group_command_ = 0;
  std::optional<UnitReplies> group_{};

  // The run's.
  enum class Phase : uint8_t { checking, plain, marking, nested };
  Phase phase_ = Phase::plain;
  Step held_step_{};  // to be run after a mark
  bool is_marked_ = false;
  size_t command_ = 0;
  size_t at_ = 0;
  Output::Mark command_start_ = 0;
  bool changed_ = false;
  std::string first_error_;
};

}  // namespace postern::redis
