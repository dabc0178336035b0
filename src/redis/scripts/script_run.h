// script_run.h: ScriptRun, an EVAL: it runs a script of Lua and makes the commands that it calls one transaction.
//
// It begins in a turn, and leaves it once it has done more than a turn allows. Its keys are locked as EXEC's are. If it
// ends with an error nothing of it is in the tables, unless the settings want Redis's way.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "redis/scripts/conductor.h"
#include "redis/lua/scripts.h"

namespace postern::redis {

/// What EVAL and its sisters were asked.
struct ScriptRequest {
  Bytes script{};           ///< its text, or its name
  bool by_name = false;     ///< EVALSHA
  bool reads_only = false;  ///< EVAL_RO, EVALSHA_RO
  std::span<const Bytes> keys{};
  std::span<const Bytes> arguments{};
};

class ScriptRun final : public Conductor {
 public:
  ScriptRun(Call &call, const ScriptRequest &request);
  ~ScriptRun() override;

  bool suits_turn() const override;
  bool reads_only() const override;

 private:
  Task<> run() override;
  void forget() override;
  bool find_script();
  bool prepare();
  /// Whether it may go on.
  bool goes_on();
  Task<> rest();
  Task<> answer_call();
  const Command *checked_command(std::span<const Bytes> arguments);
  void take_result();
  void refuse_run(Bytes text, Bytes rest = {});

  const ScriptRequest request_;
  Scripts &scripts_;
  CachedScriptRef script_;
  std::unique_ptr<lua::Interpreter> interpreter_;
  RunningScript running_;
  bool noted_ = false;
  bool left_turn_ = false;
  uint8_t database_ = 0;         // the client's
  uint8_t script_database_ = 0;  // which the script has selected
  int64_t until_ms_ = 0;
  uint64_t calls_ = 0;
  Output refusal_;
};

/// The script of this text, which is remembered. Returns nullptr after writing an error to `output`.
CachedScriptRef compile_script(Scripts &scripts, lua::Interpreter &interpreter, Bytes text, Output &output, Resp resp);

}  // namespace postern::redis
