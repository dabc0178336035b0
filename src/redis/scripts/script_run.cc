#include "redis/scripts/script_run.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <new>
#include <utility>

#include "base/clock.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

/// Bounds of a script in a turn, which others share.
constexpr uint64_t turn_instructions = 50'000;
constexpr uint64_t turn_calls = 64;
constexpr size_t turn_argument_bytes = size_t{64} << 10;
/// About ten milliseconds between two checks whether it may go on.
constexpr uint64_t slice_instructions = 1'000'000;

/// How long the calling thread has been ready to run without a processor; -1: unknown.
int64_t waited_for_processor_ms() {
  unsigned long long waited_ns = 0;
  std::FILE *const file = std::fopen("/proc/thread-self/schedstat", "re");
  if (file == nullptr) return -1;
  const bool read = std::fscanf(file, "%*u %llu", &waited_ns) == 1;
  std::fclose(file);
  return read ? static_cast<int64_t>(waited_ns / 1'000'000) : -1;
}

/// nullptr: there is none.
const Command *called_command(std::span<const Bytes> arguments) {
  const Command *const command = find_command(arguments.front());
  if (command == nullptr || command->is_subcommand()) return nullptr;
  if (!command->is_container() || arguments.size() == 1) return command;
  return find_subcommand(*command, arguments[1]);
}

size_t bytes_of(std::span<const Bytes> texts) {
  size_t bytes = 0;
  for (const Bytes text : texts) bytes += text.size();
  return bytes;
}

}  // namespace

ScriptRun::ScriptRun(Call &call, const ScriptRequest &request)
    : Conductor(call), request_(request), scripts_(call.session.protocol().scripts()) {
  running_.user = call.session.client().user();
  refusal_.hold_until_commit();
}

ScriptRun::~ScriptRun() {
  forget();
}

bool ScriptRun::suits_turn() const {
  return !left_turn_ &&
         bytes_of(request_.keys) + bytes_of(request_.arguments) + request_.script.size() <= turn_argument_bytes;
}

/// Ends the run: the client's database is selected again.
void ScriptRun::forget() {
  if (noted_) {
    scripts_.note_ended(running_);
    session().client().select(database_);
    noted_ = false;
  }
  if (interpreter_ != nullptr) scripts_.give_back(std::move(interpreter_));
  found_ = {};
}

void ScriptRun::refuse_run(Bytes text, Bytes rest) {
  answer().rewind(0);
  answer().take_errors();
  Writer(answer(), resp()).error(text, rest);
  undo_all();
}

/// Returns false after answering an error.
Task<bool> ScriptRun::prepare() {
  const Settings &settings = session().protocol().settings();
  interpreter_ = scripts_.take_interpreter(settings.script_bytes_max);
  if (interpreter_ == nullptr) {
    refuse_run("OOM there is no memory for another script");
    co_return false;
  }
  const bool is_found = co_await find_script(found_);
  if (!is_found) co_return false;
  set_reads_only(found_.reads_only);
  running_.killed.store(false, std::memory_order_relaxed);
  scripts_.note_running(running_);
  noted_ = true;
  database_ = script_database_ = session().client().database();
  calls_ = 0;
  const int64_t limit_ms = settings.script_time_ms;
  until_ms_ = limit_ms == 0 ? std::numeric_limits<int64_t>::max() : clock_ms() + limit_ms;
  waited_ms_ = left_turn_ ? waited_for_processor_ms() : -1;
  interpreter_->begin(found_.source, {.keys = request_.keys,
                                      .arguments = request_.arguments,
                                      .resp = resp(),
                                      .result = &answer(),
                                      .function = found_.function});
  interpreter_->pause_after(turn_instructions);
  co_return true;
}

Task<> ScriptRun::run() {
  const bool ready = co_await prepare();
  if (!ready) co_return;
  if (found_.heavy->load(std::memory_order_relaxed) && !left_turn_) co_await rest();
  for (;;) {
    switch (interpreter_->go_on()) {
      case lua::Interpreter::Stopped::call:
        if (++calls_ == turn_calls) co_await rest();
        co_await answer_call();
        if (!goes_on()) co_return;
        continue;
      case lua::Interpreter::Stopped::paused:
        co_await rest();
        if (!goes_on()) co_return;
        interpreter_->pause_after(slice_instructions);
        continue;
      case lua::Interpreter::Stopped::ended: break;
    }
    break;
  }
  take_result();
}

/// Lets the executor decide whether it may go on, and whether in a turn.
Task<> ScriptRun::rest() {
  if (!std::exchange(left_turn_, true)) {
    if (found_.heavy != nullptr) found_.heavy->store(true, std::memory_order_relaxed);
    co_await leave_turn();
    waited_ms_ = waited_for_processor_ms();
  }
  co_await step({.what = Step::What::run});
}

bool ScriptRun::goes_on() {
  if (session().client().killed()) return refuse_run("ERR Error running script: its connection was killed"), false;
  if (running_.killed.load(std::memory_order_relaxed)) {
    refuse_run(running_.function ? "ERR Error running script: Script killed by user with FUNCTION KILL."
                                 : "ERR Error running script: Script killed by user with SCRIPT KILL.");
    return false;
  }
  if (clock_ms() < until_ms_ || extend()) return true;
  refuse_run("ERR Error running script: it has run for longer than redis_script_time_limit");
  return false;
}

/// Threads of long scripts have a low priority: the time in which others kept one from a processor is not its own.
/// False: its time is over.
bool ScriptRun::extend() {
  if (!left_turn_ || waited_ms_ < 0) return false;
  const int64_t before_ms = std::exchange(waited_ms_, waited_for_processor_ms());
  if (waited_ms_ > before_ms) until_ms_ += waited_ms_ - before_ms;
  return clock_ms() < until_ms_;
}

void ScriptRun::answer_error(Bytes text) {
  refusal_.rewind(0);
  Writer(refusal_, resp()).error(text);
  if (refusal_.broken()) throw std::bad_alloc();
  interpreter_->answer(refusal_.written_since(0));
}

/// Returns nullptr after answering an error.
const Command *ScriptRun::checked_command(std::span<const Bytes> arguments) {
  const auto refuse = [this](Bytes text) -> const Command * {
    answer_error(text);
    return nullptr;
  };
  const Command *const command = called_command(arguments);
  if (command == nullptr) return refuse("ERR Unknown Redis command called from script");
  if (!command->takes(arguments.size())) return refuse("ERR Wrong number of args calling Redis command from script");
  if (command->has(CommandFlag::noscript)) return refuse("ERR This Redis command is not allowed from script");
  const auto begin_keys =
      std::find_if(arguments.begin(), arguments.end(), [](Bytes one) { return is_word(one, "streams"); });
  if (command->has(CommandFlag::blocking) &&
      std::any_of(arguments.begin(), begin_keys, [](Bytes one) { return is_word(one, "block"); }))
    return refuse("ERR " + std::string(told_of(arguments.front(), 128)) +
                  " command is not allowed with BLOCK option from scripts");
  if (is_reading_only() && (command->has(CommandFlag::write) || command->has(CommandFlag::may_replicate)))
    return refuse("ERR Write commands are not allowed from read-only scripts.");
  return command;
}

void ScriptRun::tell_rights(std::span<const Bytes> arguments) {
  if (called_command(arguments) == nullptr) return answer_error("ERR Invalid command passed to redis.acl_check_cmd()");
  if (session().protocol().settings().accounts)
    return answer_error("ERR redis.acl_check_cmd() is not known with accounts: grants decide when a command runs");
  interpreter_->answer(Bytes(":1\r\n"));
}

Task<> ScriptRun::answer_call() {
  const std::span<const Bytes> arguments = interpreter_->call();
  if (interpreter_->asks_only()) co_return tell_rights(arguments);
  const Command *const command = checked_command(arguments);
  if (command == nullptr) co_return;
  session().client().select(script_database_);
  const Bytes reply = co_await carry_out(*command, arguments, interpreter_->call_resp());
  script_database_ = session().client().database();
  session().client().select(database_);
  interpreter_->answer(reply);
}

void ScriptRun::take_result() {
  if (!interpreter_->raised()) return;
  answer().rewind(0);
  answer().take_errors();
  Writer(answer(), resp()).error(interpreter_->error());
  if (session().protocol().settings().script_rolls_back) undo_all();
}

}  // namespace postern::redis
