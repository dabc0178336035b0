// eval_run.h: EvalRun, an EVAL, and compile_script().
#pragma once

#include "redis/scripts/script_run.h"

namespace postern::redis {

class EvalRun final : public ScriptRun {
 public:
  EvalRun(Call &call, const ScriptRequest &request) : ScriptRun(call, request) {}

  bool reads_only() const override;

 private:
  Task<bool> find_script(Found &found) override;
  bool find_cached();

  CachedScriptRef script_;
};

/// The compiled and cached script of this text. Returns nullptr after writing an error to `output`.
CachedScriptRef compile_script(Scripts &scripts, lua::Interpreter &interpreter, Bytes text, Output &output, Resp resp);

}  // namespace postern::redis
