// script_run.h: ScriptRun, a script of Lua that runs, whose commands are one transaction: an EVAL or an FCALL.
//
// It begins in a turn, and leaves it once it has done more than a turn allows. Its keys are locked as EXEC's are. If it
// ends with an error nothing of it is in the tables, unless the settings want Redis's way.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "redis/scripts/conductor.h"
#include "redis/lua/scripts.h"

namespace postern::redis {

/// What EVAL, FCALL and their sisters were asked.
struct ScriptRequest {
  Bytes script{};           ///< its text, or its name, or the function's
  bool by_name = false;     ///< EVALSHA
  bool reads_only = false;  ///< EVAL_RO, EVALSHA_RO, FCALL_RO
  std::span<const Bytes> keys{};
  std::span<const Bytes> arguments{};
};

class ScriptRun : public Conductor {
 public:
  ~ScriptRun() override;

  bool suits_turn() const override;
  bool may_last() const final { return true; }

 protected:
  ScriptRun(Call &call, const ScriptRequest &request);

  /// A script that was found.
  struct Found {
    lua::Source source{};
    Bytes function{};
    std::atomic<bool> *heavy = nullptr;  ///< set where it is too much for a turn
    bool reads_only = false;
  };
  /// Returns false after answering an error. The script found lives as long as the run.
  virtual Task<bool> find_script(Found &found) = 0;

  const ScriptRequest &request() const { return request_; }
  Scripts &scripts() const { return scripts_; }
  lua::Interpreter &interpreter() { return *interpreter_; }
  RunningScript &running() { return running_; }
  void refuse_run(Bytes text, Bytes rest = {});
  /// The run leaves its turn.
  Task<> rest();

 private:
  Task<> run() override;
  void forget() override;
  Task<bool> prepare();
  /// Whether it may go on.
  bool goes_on();
  Task<> answer_call();
  const Command *checked_command(std::span<const Bytes> arguments);
  void take_result();

  const ScriptRequest request_;
  Scripts &scripts_;
  Found found_;
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

}  // namespace postern::redis
