// function_run.h: FunctionRun, an FCALL: a script that a library of functions has.
#pragma once

#include "redis/scripts/function_rows.h"
#include "redis/scripts/script_run.h"

namespace postern::redis {

class FunctionRun final : public ScriptRun {
 public:
  /// `wrong`: an error in its arguments, which counts if there is such a function.
  FunctionRun(Call &call, const ScriptRequest &request, Bytes wrong);

  bool reads_only() const override;

 private:
  Task<bool> find_script(Found &found) override;

  const Functions &functions_;
  const Bytes wrong_;
  FunctionStateRef state_;            // has the function
  mutable bool told_reader_ = false;  // what reads_only() has answered
};

}  // namespace postern::redis
