// script_commands.cc: EVAL, EVALSHA, those that only read, SCRIPT.
#include <string>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/scripts/eval_run.h"
#include "redis/session.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

Next run_script(Call &call, bool by_name, bool reads_only) {
  const std::span<const Bytes> rest = call.arguments.subspan(3);
  int64_t keys = 0;
  if (by_name && call.arguments[1].size() != lua::sha1_digits)
    return refuse(call, "NOSCRIPT No matching script. Please use EVAL.");
  if (!parse_integer(call.arguments[2], keys)) return refuse(call, not_an_integer);
  if (keys > static_cast<int64_t>(rest.size()))
    return refuse(call, "ERR Number of keys can't be greater than number of args");
  if (keys < 0) return refuse(call, "ERR Number of keys can't be negative");
  ScriptRun &run = call.session.tables().keep<EvalRun>(call, ScriptRequest{
                                                                 .script = call.arguments[1],
                                                                 .by_name = by_name,
                                                                 .reads_only = reads_only,
                                                                 .keys = rest.first(static_cast<size_t>(keys)),
                                                                 .arguments = rest.subspan(static_cast<size_t>(keys)),
                                                             });
  return begin_script<Conductor>(call, run);
}

/// SCRIPT LOAD.
class LoadScript final : public Conductor {
 public:
  explicit LoadScript(Call &call) : Conductor(call), text_(call.arguments[2]) {}

  bool suits_turn() const override { return text_.size() <= turn_bytes_max; }

 private:
  static constexpr size_t turn_bytes_max = size_t{64} << 10;

  Task<> run() override {
    Scripts &scripts = session().protocol().scripts();
    std::unique_ptr<lua::Interpreter> interpreter =
        scripts.take_interpreter(session().protocol().settings().script_bytes_max);
    Writer writer(answer(), resp());
    if (interpreter == nullptr) {
      writer.error("OOM there is no memory for another script");
      co_return;
    }
    const CachedScriptRef script = compile_script(scripts, *interpreter, text_, answer(), resp());
    scripts.give_back(std::move(interpreter));
    if (script != nullptr) writer.bulk(script->name);
  }

  const Bytes text_;
};

}  // namespace

namespace lower {

Next eval(Call &call) {
  return run_script(call, false, false);
}

Next evalsha(Call &call) {
  return run_script(call, true, false);
}

Next eval_ro(Call &call) {
  return run_script(call, false, true);
}

Next evalsha_ro(Call &call) {
  return run_script(call, true, true);
}

Next script_load(Call &call) {
  return begin_script(call, call.session.tables().keep<LoadScript>(call));
}

// They run in order with other commands.

Next script_exists(Call &call) {
  answer(call, [&scripts = call.session.protocol().scripts(), names = call.arguments.subspan(2)](Writer &writer) {
    writer.array(names.size());
    for (const Bytes name : names) writer.integer(scripts.find(name) != nullptr ? 1 : 0);
  });
  return Next::go_on;
}

Next script_flush(Call &call) {
  const bool valid =
      call.arguments.size() == 2 ||
      (call.arguments.size() == 3 && (is_word(call.arguments[2], "sync") || is_word(call.arguments[2], "async")));
  if (!valid) return refuse(call, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  answer(call, [&scripts = call.session.protocol().scripts()](Writer &writer) {
    scripts.flush();
    writer.ok();
  });
  return Next::go_on;
}

Next script_kill(Call &call) {
  switch (call.session.protocol().scripts().kill(call.session.client().user(), false)) {
    case Scripts::Kill::killed: return answer_ok(call);
    case Scripts::Kill::is_other:
      return refuse(call, "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.");
    case Scripts::Kill::none: break;
  }
  return refuse(call, "NOTBUSY No scripts in execution right now.");
}

/// There is no debugger to switch on.
Next script_debug(Call &call) {
  if (is_word(call.arguments[2], "no")) return answer_ok(call);
  if (is_word(call.arguments[2], "yes") || is_word(call.arguments[2], "sync"))
    return refuse(call, "ERR scripts cannot be debugged here");
  return refuse(call, "ERR Use SCRIPT DEBUG YES/SYNC/NO");
}

}  // namespace lower
}  // namespace postern::redis
