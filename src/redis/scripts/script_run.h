// script_run.h: ScriptRun, a running Lua script, by EVAL or FCALL; its commands are one transaction.
//
// It begins in a turn, and leaves it when it exceeds the turn's bounds. Its keys are locked like EXEC's. If it ends
// with an error all of it is undone, unless a setting asks for Redis's behaviour.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "redis/scripts/conductor.h"
#include "redis/lua/scripts.h"

namespace postern::redis {

/// The arguments of EVAL, FCALL and their variants.
struct ScriptRequest {
  Bytes script{};           ///< its text or SHA-1, or the function's name
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
    std::atomic<bool> *heavy = nullptr;  ///< set when it exceeds a turn's bounds
    bool reads_only = false;
  };
  /// Returns false after answering an error. The script that was found lives as long as the run.
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
  /// Whether the script may continue.
  bool goes_on();
  bool extend();
  Task<> answer_call();
  void answer_error(Bytes text);
  void tell_rights(std::span<const Bytes> arguments);
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
  uint8_t script_database_ = 0;  // the database that the script has selected
  int64_t until_ms_ = 0;
  int64_t waited_ms_ = -1;  // its thread's wait for a processor, as far as it is counted; -1: unknown
  uint64_t calls_ = 0;
  Output refusal_;
};

}  // namespace postern::redis
