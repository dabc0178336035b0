#include "redis/exec.h"

#include <algorithm>
#include <span>
#include <utility>

#include "redis/monitoring.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

constexpr Bytes discarded_because = "EXECABORT Transaction discarded because of: ";

}  // namespace

Exec::Exec(Call &call, std::unique_ptr<Program> program)
    : session_(call.session),
      output_(call.output),
      passage_(call.output),
      resp_(call.resp),
      rolls_back_(call.session.protocol().settings().exec_rolls_back),
      program_(std::move(program)) {}

Next Exec::begin_in(Call &call) {
  const size_t first = call.batch.size();
  add_checks(call);
  add_commands(call);
  take_ops(call.batch, first);
  if (!writes_anything() && !rolls_back_) return add_reading(call);
  for (Op &op : ops_)
    if (op.verb == Verb::find) op.verb = Verb::lock;
  for (Op &op : check_ops_) op.verb = Verb::lock;
  Op &script = call.batch.add();
  script.verb = Verb::script;
  script.reply = this;
  script.script = this;
  for (const Op &op : ops_)
    if (script.slot == nullptr) script.slot = op.slot;
  // Mapped tables may be non-transactional; and if the first error undoes everything, each command is checked.
  may_group_ = !rolls_back_ && std::all_of(ops_.begin(), ops_.end(), [&call](const Op &op) {
    return op.slot == nullptr || call.session.tables().open().in_keyspace(*op.slot);
  });
  return Next::go_on;
}

void Exec::add_checks(Call &call) {
  for (Watched &watched : program_->watched) {
    const Place place = call.session.tables().open().find(watched.database, watched.key, call.batch);
    Check &check = checks_.emplace_back(Check{watched});
    if (place.state != Place::State::there) continue;
    check.find = {.key = place.key, .limit = 1};
    check.reply = std::make_unique<PrintReply>(check.now, place.map(), call.now_ms);
    Op &op = check_ops_.emplace_back();
    op.verb = Verb::find;
    op.reply = check.reply.get();
    op.slot = &place.open->table.slot;
    op.find = &check.find;
    op.identity = call.session.identity();
  }
}

void Exec::add_commands(Call &call) {
  for (const Queued &queued : program_->commands) {
    add_command(call, queued);
    ends_.push_back(call.batch.size());
  }
}

void Exec::add_command(Call &call, const Queued &queued) {
  RedisSession &session = call.session;
  const size_t first = call.batch.size();
  Call its{queued.command(), queued.arguments(),      session,     call.batch,
           call.output,      session.client().resp(), call.now_ms, true};
  session.note_running(queued.command());
  const Handler carry_out =
      queued.command().has(CommandFlag::write) && session.announces() ? announce : queued.command().handler;
  const Next next = is_shown(session, queued.command()) ? show(its, carry_out) : carry_out(its);
  if (next == Next::go_on) return;
  // What follows depends on more than tables.
  call.batch.truncate(first);
  session.wait_for(nullptr);
  refuse(its, "ERR Command not allowed inside a transaction");
}

void Exec::take_ops(Batch &batch, size_t first) {
  const std::span<Op> added = batch.ops().subspan(first);
  const std::vector<Op> all(added.begin(), added.end());
  batch.truncate(first);
  size_t command = 0;
  const auto end_commands = [&](size_t at) {
    for (; command != ends_.size() && ends_[command] == first + at; ++command) ends_[command] = ops_.size();
  };
  for (size_t at = 0; at != all.size(); ++at) {
    end_commands(at);
    if (all[at].verb == Verb::open) batch.add(all[at]);
    else ops_.push_back(all[at]);
  }
  end_commands(all.size());
}

bool Exec::writes_anything() const {
  return std::any_of(ops_.begin(), ops_.end(), [](const Op &op) { return writes(op.verb); });
}

/// Commands that only read are a unit: they read one view, and lock nothing.
Next Exec::add_reading(Call &call) {
  Batch &batch = call.batch;
  batch.begin_unit(false);
  answer(call, [this](Writer &writer) {
    passage_.begin();
    writer.array(ends_.size());
  });
  for (const Op &op : check_ops_) batch.add(op);
  for (const Op &op : ops_) batch.add(op);
  if (!checks_.empty()) {
    answer(call, [this](Writer &writer) {
      if (watched_changed() && passage_.take_back()) writer.nil_array();
    });
  }
  batch.end_unit();
  return Next::go_on;
}

bool Exec::watched_changed() const {
  return std::any_of(checks_.begin(), checks_.end(), [](const Check &check) {
    return check.before.read_otherwise || !(check.before.print == check.now);
  });
}

// --- the script ------------------------------------------------------------------------------------------------------

bool Exec::suits_turn() const {
  return ops_.size() <= ops_in_turn_max && std::all_of(ops_.begin(), ops_.end(), [](const Op &op) {
           return op.verb != Verb::script || op.script->suits_turn();
         });
}

bool Exec::may_last() const {
  return std::any_of(ops_.begin(), ops_.end(),
                     [](const Op &op) { return op.verb == Verb::script && op.script->may_last(); });
}

Script::Step Exec::begin() {
  restart();
  if (check_ops_.empty()) return begin_commands();
  phase_ = Phase::checking;
  return {Step::What::run, check_ops_};
}

Script::Step Exec::begin_commands() {
  changed_ = watched_changed();
  if (changed_) return {Step::What::commit};
  phase_ = Phase::plain;
  command_ = at_ = 0;
  passage_.begin();
  Writer(output_, resp_).array(ends_.size());
  command_start_ = output_.mark();
  return advance();
}

Script::Step Exec::next() {
  switch (phase_) {
    case Phase::checking: return begin_commands();
    case Phase::plain:
      if (group_failed()) {
        one_by_one_ = true;
        at_ = group_begin_;
        command_ = group_command_;
      }
      return advance();
    case Phase::marking: return run_nested(held_step_);
    case Phase::nested: return run_nested(script_of(ops_[at_])->next());
  }
  return {};
}

/// A step of a command that is a script itself. If that is undone, the other commands remain: there is a mark before
/// its first step, unless that is also its last, which leaves nothing when it fails.
Script::Step Exec::run_nested(Step step) {
  if (step.what == Step::What::commit || step.what == Step::What::undo) {
    Op &op = ops_[at_++];
    phase_ = Phase::plain;
    op.reply->done({});
    return step.what == Step::What::undo && is_marked_ ? Step{Step::What::back} : advance();
  }
  if (!std::exchange(step.last, false) && !std::exchange(is_marked_, true)) {
    held_step_ = step;
    phase_ = Phase::marking;
    return {Step::What::mark};
  }
  phase_ = Phase::nested;
  ++step.depth;  // below that mark
  return step;
}

/// The next ops that are not scripts, of one or several commands. They share a statement, which is less work than one
/// for each. If one of them fails all are undone, and each is run by itself. Reads lock gaps, so they have statements
/// of their own: writes need no gap locks.
std::span<Op> Exec::plain_ops() {
  const auto is_script = [this](const Op &op) { return is_nested(op); };
  const auto is_lock = [](const Op &op) { return op.verb == Verb::lock; };
  const std::span<Op> rest = std::span(ops_).first(ends_[command_]).subspan(at_);
  const auto script = std::find_if(rest.begin(), rest.end(), is_script);
  if (script != rest.end() || !tries_groups()) return {rest.begin(), script};
  const bool locks = std::any_of(rest.begin(), rest.end(), is_lock);
  size_t last = command_;
  while (last + 1 != ends_.size()) {
    const std::span<Op> next = std::span(ops_).first(ends_[last + 1]).subspan(ends_[last]);
    if (std::any_of(next.begin(), next.end(), is_script)) break;
    if (std::any_of(next.begin(), next.end(), is_lock) != locks) break;
    ++last;
  }
  return std::span(ops_).first(ends_[last]).subspan(at_);
}

/// Whether the last step was a group with a failure, which was undone.
bool Exec::group_failed() {
  if (!group_.has_value()) return false;
  bool failed = false;
  for (size_t at = group_begin_; at != at_; ++at) {
    failed |= group_->failed(at - group_begin_);
    ops_[at].tentative = false;
  }
  if (failed) group_->restart();
  group_.reset();
  return failed;
}

Script::Step Exec::advance() {
  for (;;) {
    while (command_ != ends_.size() && at_ >= ends_[command_]) {
      if (end_command()) return {Step::What::undo};
    }
    if (command_ == ends_.size()) {
      session_.show_commands();
      return {Step::What::commit};
    }
    if (!is_nested(ops_[at_])) return run_plain();
    is_marked_ = false;
    return run_nested(script_of(ops_[at_])->begin());
  }
}

Script::Step Exec::run_plain() {
  const std::span<Op> step = plain_ops();
  const bool has_scripts = std::any_of(step.begin(), step.end(), [](const Op &op) { return script_of(op) != nullptr; });
  if (at_ + step.size() > ends_[command_] || has_scripts) {
    group_begin_ = at_;
    group_command_ = command_;
    for (Op &one : step) one.tentative = true;  // a failure counts when the command fails by itself
    group_.emplace(step);
  }
  at_ += step.size();
  return {.what = Step::What::run, .ops = step, .last = at_ == ops_.size() && tries_groups()};
}

bool Exec::end_command() {
  const Bytes reply = output_.written_since(command_start_);
  if (rolls_back_ && reply.starts_with('-')) {
    first_error_ = reply.substr(1, reply.find_first_of("\r\n") - 1);
    return true;
  }
  ++command_;
  command_start_ = output_.mark();
  return false;
}

void Exec::done(const Outcome &outcome) {
  const bool failed = outcome.failure != Failure::none;
  if (!failed && !changed_ && first_error_.empty()) return;
  // The commands were undone, so they are not announced.
  if (!failed && !changed_) restart_ops();
  if (passage_.begun() && !passage_.take_back()) return;
  passage_.begin();
  Writer writer(output_, resp_);
  if (failed) {
    writer.error(discarded_because, outcome.message.empty() ? failure_text(outcome.failure) : outcome.message);
  } else if (changed_) {
    writer.nil_array();
  } else {
    writer.error(discarded_because, first_error_);
  }
}

void Exec::restart_ops() {
  for (size_t i = ops_.size(); i-- != 0;) {
    ops_[i].reply->restart();
    ops_[i].tentative = false;
  }
}

/// Takes back the replies of all commands, and their array.
void Exec::restart() {
  group_.reset();
  restart_ops();
  for (const Op &op : check_ops_) op.reply->restart();
  passage_.take_back();
  changed_ = one_by_one_ = false;
  first_error_.clear();
}

}  // namespace postern::redis
