#include "redis/scripts/function_run.h"

#include "base/clock.h"
#include "redis/lua/function_library.h"
#include "redis/session.h"

namespace postern::redis {

FunctionRun::FunctionRun(Call &call, const ScriptRequest &request, Bytes wrong)
    : ScriptRun(call, request), functions_(call.session.protocol().functions()), wrong_(wrong) {
  running().function = true;
  running().command = call.arguments;
}

/// Called when it is about to run.
bool FunctionRun::reads_only() const {
  const FunctionStateRef state = functions_.state();
  const Function *const function = functions_.fresh(clock_ms()) ? state->find(request().script) : nullptr;
  told_reader_ = request().reads_only || (function != nullptr && function->has(lua::FunctionFlag::no_writes));
  return told_reader_;
}

Task<bool> FunctionRun::find_script(Found &found) {
  FunctionRows rows;
  state_ = co_await recent_functions(*this, rows);
  if (state_ == nullptr) {
    Writer writer(answer(), resp());
    rows.tell_failure(writer);
    undo_all();
    co_return false;
  }
  const Function *const function = state_->find(request().script);
  const auto refuse = [this](Bytes text) { return refuse_run(text), false; };
  if (function == nullptr) co_return refuse("ERR Function not found");
  if (!wrong_.empty()) co_return refuse(wrong_);
  const bool no_writes = function->has(lua::FunctionFlag::no_writes);
  if (request().reads_only && !no_writes)
    co_return refuse("ERR Can not execute a script with write flag using *_ro command.");
  // Its table was read just now, or the function was replaced meanwhile: the next run will know.
  if (told_reader_ != no_writes) co_await leave_turn();
  if (told_reader_ && !no_writes) co_return refuse("TRYAGAIN the function has just been replaced");
  running().name = function->name;
  running().since_ms = clock_ms();
  const Library &library = *function->library;
  found = {.source = {.number = library.number, .text = library.text(), .name = function->name, .library = true},
           .function = function->name,
           .heavy = &function->heavy,
           .reads_only = no_writes};
  co_return true;
}

}  // namespace postern::redis
