#include "redis/scripts/eval_run.h"

#include <array>
#include <utility>

#include "redis/protocol.h"

namespace postern::redis {

/// Called when it is about to run.
bool EvalRun::reads_only() const {
  ScriptFlags flags;
  if (request().by_name) {
    if (const CachedScriptRef script = scripts().find(request().script)) flags = script->flags;
  } else if (size_t first_line = 0; !read_shebang(request().script, flags, first_line).empty()) {
    return false;
  }
  return request().reads_only || flags.no_writes;
}

/// Returns false after answering an error.
bool EvalRun::find_cached() {
  if (request().by_name) {
    script_ = scripts().find(request().script);
    if (script_ == nullptr) refuse_run("NOSCRIPT No matching script. Please use EVAL.");
    return script_ != nullptr;
  }
  script_ = compile_script(scripts(), interpreter(), request().script, answer(), resp());
  if (script_ == nullptr) undo_all();
  return script_ != nullptr;
}

Task<bool> EvalRun::find_script(Found &found) {
  if (!find_cached()) co_return false;
  const ScriptFlags flags = script_->flags;
  if (request().reads_only && flags.declared && !flags.no_writes) {
    refuse_run("ERR Can not execute a script with write flag using *_ro command.");
    co_return false;
  }
  found = {.source = {.number = script_->number, .text = script_->text, .name = script_->name},
           .heavy = &script_->heavy,
           .reads_only = request().reads_only || flags.no_writes};
  co_return true;
}

CachedScriptRef compile_script(Scripts &scripts, lua::Interpreter &interpreter, Bytes text, Output &output, Resp resp) {
  if (CachedScriptRef known = scripts.find_text(text)) return known;
  const std::array<char, lua::sha1_digits> name = lua::sha1_of(text);
  if (CachedScriptRef known = scripts.find({name.data(), name.size()})) return known;
  const auto refuse = [&](Bytes why) -> CachedScriptRef {
    Writer(output, resp).error(why);
    return nullptr;
  };
  if (text.size() > Scripts::text_bytes_max) return refuse("ERR the script is too long");
  auto script = std::make_shared<CachedScript>();
  size_t first_line = 0;
  if (const std::string wrong = read_shebang(text, script->flags, first_line); !wrong.empty()) return refuse(wrong);
  script->number = scripts.next_number();
  script->name.assign(name.data(), name.size());
  script->whole = text;
  script->text = Bytes(script->whole).substr(first_line);
  if (!interpreter.compile({script->number, script->text, script->name})) return refuse(interpreter.error());
  return scripts.add(std::move(script));
}

}  // namespace postern::redis
