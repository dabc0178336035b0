#include "redis/scripts/conductor.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

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
      in_unit_(call.in_unit) {
  answer_.hold_until_commit();
  reply_.hold_until_commit();
}

Script::Step Conductor::begin() {
  restart();
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
  output_.put(answer_.written_since(0));
  output_.note_errors(answer_.take_errors());
  if (answer_.broken()) output_.set_broken();
}

void Conductor::restart() {
  forget();
  task_ = {};
  take_back_messages();
  take_back_shown();
  undone_ = false;
  answer_.rewind(0);
  answer_.take_errors();
  passage_.take_back();
}

/// Adds its ops to the batch.
void Conductor::begin_command(const Command &command, std::span<const Bytes> arguments, Resp resp) {
  batch_.clear();
  kept_.clear();
  reply_.rewind(0);
  batch_.act_for(session_.identity());
  const Tables::Keeping keeping(session_.tables(), kept_);
  Call its{command, arguments, session_, batch_, reply_, resp, now_ms_, !reads_only_};
  session_.note_running(command);
  const bool announces = command.has(CommandFlag::write) && session_.announces();
  const Next next = announces ? announce(its) : command.handler(its);
  if (!was_shown_ && is_shown(session_, command)) note_shown_of_script(session_, command, arguments);
  if (next == Next::go_on) return;
  // What follows depends on more than tables.
  batch_.clear();
  session_.wait_for(nullptr);
  refuse(its, "ERR This Redis command is not allowed from script");
}

Task<Bytes> Conductor::carry_out(const Command &command, std::span<const Bytes> arguments, Resp resp) {
  begin_command(command, arguments, resp);
  const std::span<Op> ops = batch_.ops();
  // Tables are opened before the ops on them are prepared.
  const auto others = std::stable_partition(ops.begin(), ops.end(), [](const Op &op) { return op.verb == Verb::open; });
  if (others != ops.begin()) {
    co_await step({.what = Step::What::run, .ops = {ops.begin(), others}});
    session_.tables().open().settled();
  }
  for (auto at = others; at != ops.end();) {
    if (script_of(*at) != nullptr) {
      co_await run_nested(*at++);
      continue;
    }
    const auto end = std::find_if(at, ops.end(), [](const Op &op) { return script_of(op) != nullptr; });
    if (!reads_only_)
      for (auto op = at; op != end; ++op)
        if (op->verb == Verb::find) op->verb = Verb::lock;
    co_await step({.what = Step::What::run, .ops = {at, end}});
    at = end;
  }
  retain_messages(command);
  co_return reply_.written_since(0);
}

/// A message is its command's, and leaves when all of the script lasts.
void Conductor::retain_messages(const Command &command) {
  if (!command.has(CommandFlag::pubsub) || kept_.empty()) return;
  for (const Op &op : batch_.ops()) publishers_.push_back(op.reply);
  std::move(kept_.begin(), kept_.end(), std::back_inserter(messages_));
  kept_.clear();
}

void Conductor::take_back_messages() {
  session_.notices().take_back(notices_from_, notices_to_);
  for (Reply *const publisher : publishers_) publisher->restart();
  publishers_.clear();
  messages_.clear();
}

Next begin_conductor(Call &call, Conductor &conductor) {
  Op &op = call.batch.add();
  op.verb = Verb::script;
  op.reply = &conductor;
  op.script = &conductor;
  return Next::go_on;
}

/// Steps of a command that is a script itself.
Task<> Conductor::run_nested(Op &op) {
  Script &script = *script_of(op);
  if (op.verb == Verb::script && !script.suits_turn()) co_await leave_turn();
  if (!reads_only_) co_await step({.what = Step::What::mark});
  Step its = script.begin();
  while (its.what != Step::What::commit && its.what != Step::What::undo) {
    co_await step(its);
    its = script.next();
  }
  if (its.what == Step::What::undo && !reads_only_) co_await step({.what = Step::What::back});
  op.reply->done({});
}

}  // namespace postern::redis
