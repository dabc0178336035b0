#include "redis/scripts/conductor.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "contract/unit_replies.h"
#include "redis/errors.h"
#include "redis/monitoring.h"
#include "redis/session.h"

namespace postern::redis {

Conductor::Conductor(Call &call)
    : session_(call.session),
      output_(call.output),
      passage_(call.output),
      resp_(call.resp),
      now_ms_(call.now_ms),
      in_unit_(call.in_unit) {}

Script::Step Conductor::begin() {
  restart();
  room_.emplace();
  // Tables that later commands of the batch are to open are not open yet.
  session_.tables().open().settled();
  notices_from_ = session_.notices().next_id();
  notices_to_ = std::numeric_limits<uint64_t>::max();
  shown_from_ = session_.shown_commands().next_id();
  shown_to_ = std::numeric_limits<uint64_t>::max();
  task_ = run();
  waiting_ = task_.handle();
  return go_on();
}

Script::Step Conductor::next() {
  return go_on();
}

Script::Step Conductor::go_on() {
  waiting_.resume();
  if (!task_.handle().done()) return step_;
  task_.result();
  forget();
  if (undone_) take_back_messages();
  notices_to_ = session_.notices().next_id();
  end_showing();
  return {.what = undone_ ? Step::What::undo : Step::What::commit};
}

void Conductor::end_showing() {
  shown_to_ = session_.shown_commands().next_id();
  if (shown_to_ != shown_from_ && !in_unit_) session_.show_commands();
}

void Conductor::take_back_shown() {
  ShownCommands &shown = session_.shown_commands();
  const uint64_t to = std::min(shown_to_, shown.next_id());
  if (to > shown_from_ && !shown.take_back(shown_from_, to)) was_shown_ = true;
  shown_from_ = shown_to_ = 0;
}

void Conductor::done(const Outcome &outcome) {
  passage_.begin();
  Writer to(output_, resp_);
  if (outcome.failure != Failure::none) {
    take_back_messages();
    return write_failure(to, outcome);
  }
  output_.put(answer().written_since(0));
  output_.note_errors(answer().take_errors());
  if (answer().broken()) output_.set_broken();
  task_ = {};
  if (publishers_.empty()) room_.reset();  // their replies are in it, which may yet be taken back
}

void Conductor::restart() {
  forget();
  task_ = {};
  take_back_messages();
  take_back_shown();
  undone_ = false;
  room_.reset();
  passage_.take_back();
}

/// Adds its ops to the batch.
void Conductor::begin_command(const Command &command, std::span<const Bytes> arguments, Resp resp) {
  room_->batch.clear();
  room_->kept.clear();
  room_->reply.rewind(0);
  room_->batch.act_for(session_.identity());
  const Tables::Keeping keeping(session_.tables(), room_->kept);
  Call its{command, arguments, session_, room_->batch, room_->reply, resp, now_ms_, !reads_only_};
  session_.note_running(command);
  const bool announces = command.has(CommandFlag::write) && session_.announces();
  const Next next = announces ? announce(its) : command.handler(its);
  if (!was_shown_ && is_shown(session_, command)) note_shown_of_script(session_, command, arguments);
  if (next == Next::go_on) return;
  // The following steps depend on more than tables.
  room_->batch.clear();
  session_.wait_for(nullptr);
  refuse(its, "ERR This Redis command is not allowed from script");
}

Task<Bytes> Conductor::carry_out(const Command &command, std::span<const Bytes> arguments, Resp resp) {
  begin_command(command, arguments, resp);
  const std::span<Op> ops = room_->batch.ops();
  // Tables are opened before the ops on them are prepared.
  const auto opens = [](const Op &op) { return op.verb == Verb::open; };
  const auto others = std::is_partitioned(ops.begin(), ops.end(), opens)
                          ? std::find_if_not(ops.begin(), ops.end(), opens)
                          : std::stable_partition(ops.begin(), ops.end(), opens);
  if (others != ops.begin()) {
    co_await step({.what = Step::What::run, .ops = {ops.begin(), others}});
    session_.tables().open().settled();
  }
  for (auto at = others; at != ops.end();) {
    if (at->verb == Verb::script) {
      co_await run_nested(*at++);
      continue;
    }
    const bool has_script = script_of(*at) != nullptr;
    const auto end = std::find_if(at, ops.end(), [has_script](const Op &op) {
      return op.verb == Verb::script || (script_of(op) != nullptr) != has_script;
    });
    if (has_script) {
      co_await try_plain({at, end});
    } else {
      if (!reads_only_)
        for (auto op = at; op != end; ++op)
          if (op->verb == Verb::find) op->verb = Verb::lock;
      co_await step({.what = Step::What::run, .ops = {at, end}});
    }
    at = end;
  }
  if (room_->reply.broken()) throw std::bad_alloc();
  retain_messages(command);
  co_return room_->reply.written_since(0);
}

/// Messages of a command are sent when the whole script has lasted.
void Conductor::retain_messages(const Command &command) {
  if (!command.has(CommandFlag::pubsub) || room_->kept.empty()) return;
  for (const Op &op : room_->batch.ops()) publishers_.push_back(op.reply);
  std::move(room_->kept.begin(), room_->kept.end(), std::back_inserter(messages_));
  room_->kept.clear();
}

void Conductor::take_back_messages() {
  session_.notices().take_back(notices_from_, notices_to_);
  for (Reply *const publisher : publishers_) publisher->restart();
  publishers_.clear();
  messages_.clear();
}

/// Tries ops without their scripts, which are for obstacles and hardly ever needed.
Task<> Conductor::try_plain(std::span<Op> ops) {
  bool again = false;
  {
    UnitReplies replies(ops);
    for (Op &op : ops) op.tentative = true;  // a failure counts when the op fails by itself
    co_await step({.what = Step::What::run, .ops = ops});
    for (size_t i = 0; i != ops.size(); ++i) {
      ops[i].tentative = false;
      again |= replies.failure(i) != Failure::none && replies.failure(i) != Failure::interrupted;
    }
    if (again) replies.restart();
  }
  if (!again) co_return;
  for (Op &op : ops) co_await run_nested(op);
}

/// Runs a command that is a script itself. If its only step fails nothing remains of it.
Task<> Conductor::run_nested(Op &op) {
  Script &script = *script_of(op);
  if (op.verb == Verb::script && !script.suits_turn()) co_await leave_turn();
  bool marked = reads_only_;
  Step its = script.begin();
  while (its.what != Step::What::commit && its.what != Step::What::undo) {
    if (!std::exchange(its.last, false) && !std::exchange(marked, true)) co_await step({.what = Step::What::mark});
    co_await step(its);
    its = script.next();
  }
  if (its.what == Step::What::undo && marked && !reads_only_) co_await step({.what = Step::What::back});
  op.reply->done({});
}

}  // namespace postern::redis
