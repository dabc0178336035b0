// function_run.h: FunctionRun, an FCALL: a run of a library's function.
#pragma once

#include "redis/scripts/function_rows.h"
#include "redis/scripts/script_run.h"

namespace postern::redis {

class FunctionRun final : public ScriptRun {
 public:
  /// `wrong`: an error in its arguments, answered only if the function exists.
  FunctionRun(Call &call, const ScriptRequest &request, Bytes wrong);

  bool reads_only() const override;

 private:
  Task<bool> find_script(Found &found) override;

  const Functions &functions_;
  const Bytes wrong_;
  FunctionStateRef state_;            // owns the function
  mutable bool told_reader_ = false;  // the answer of reads_only()
};

}  // namespace postern::redis
