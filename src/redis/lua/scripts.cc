#include "redis/lua/scripts.h"

#include <algorithm>
#include <utility>

#include "redis/lua/library_text.h"

namespace postern::redis {
namespace {

/// Returns an error, or an empty text.
std::string read_flags(Bytes names, ScriptFlags &flags) {
  for (bool more = !names.empty(); more;) {
    const size_t comma = names.find(',');
    const Bytes name = names.substr(0, comma);
    if (name == "no-writes") flags.no_writes = true;
    else if (name != "allow-oom" && name != "allow-stale" && name != "no-cluster" && name != "allow-cross-slot-keys")
      return "ERR Unexpected flag in script shebang: " + std::string(name);
    more = comma != Bytes::npos;
    if (more) names.remove_prefix(comma + 1);
  }
  return {};
}

std::string read_word(Bytes word, bool is_first, ScriptFlags &flags) {
  constexpr Bytes flags_begin = "flags=";
  if (is_first) return word == "#!lua" ? "" : "ERR Unexpected engine in script shebang: " + std::string(word);
  if (!word.starts_with(flags_begin)) return "ERR Unknown lua shebang option: " + std::string(word);
  return read_flags(word.substr(flags_begin.size()), flags);
}

}  // namespace

std::string read_shebang(Bytes text, ScriptFlags &flags, size_t &bytes) {
  bytes = 0;
  if (!text.starts_with("#!")) return {};
  bytes = text.substr(0, text.find('\0')).find('\n');
  if (bytes == Bytes::npos) return "ERR Invalid script shebang";
  flags.declared = true;
  bool is_first = true;
  std::string wrong;
  const bool is_split = split_words(text.substr(0, bytes), [&](const std::string &word) {
    if (wrong.empty()) wrong = read_word(word, std::exchange(is_first, false), flags);
  });
  return is_split ? wrong : "ERR Invalid engine in script shebang";
}

CachedScriptRef Scripts::find(Bytes name) {
  std::array<char, lua::sha1_digits> lowered;
  if (name.size() != lowered.size()) return nullptr;
  std::transform(name.begin(), name.end(), lowered.begin(),
                 [](char byte) { return static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte); });
  const std::lock_guard guard(mutex_);
  const auto found = scripts_.find({lowered.data(), lowered.size()});
  return found == scripts_.end() ? nullptr : used_now(found->second);
}

CachedScriptRef Scripts::find_text(Bytes whole) {
  if (whole.size() > found_text_bytes_max) return nullptr;
  const std::lock_guard guard(mutex_);
  const auto found = by_text_.find(whole);
  return found == by_text_.end() ? nullptr : used_now(*found->second);
}

CachedScriptRef Scripts::used_now(const Entry &entry) {
  used_.splice(used_.begin(), used_, entry.place);
  return entry.script;
}

CachedScriptRef Scripts::add(CachedScriptRef script) {
  std::vector<CachedScriptRef> dropped;  // destroyed without the lock
  const std::lock_guard guard(mutex_);
  if (const auto found = scripts_.find(script->name); found != scripts_.end()) return found->second.script;
  while (!used_.empty() && bytes_ + bytes_of(*script) > cache_bytes_max) {
    const auto last = scripts_.find(used_.back());
    bytes_ -= bytes_of(*last->second.script);
    by_text_.erase(last->second.script->whole);
    dropped.push_back(std::move(last->second.script));
    used_.pop_back();
    scripts_.erase(last);
  }
  used_.push_front(script->name);
  Entry &entry = scripts_.emplace(script->name, Entry{script, used_.begin()}).first->second;
  if (script->whole.size() <= found_text_bytes_max) by_text_.emplace(script->whole, &entry);
  bytes_ += bytes_of(*script);
  return script;
}

void Scripts::flush() {
  std::unordered_map<std::string_view, Entry> scripts;
  std::vector<std::unique_ptr<lua::Interpreter>> resting;
  const std::lock_guard guard(mutex_);
  used_.clear();
  by_text_.clear();
  scripts.swap(scripts_);
  resting.swap(resting_);
  bytes_ = 0;
  ++flushes_;
}

std::unique_ptr<lua::Interpreter> Scripts::take_interpreter(size_t bytes_max) {
  uint64_t flushes = 0;
  {
    const std::lock_guard guard(mutex_);
    flushes = flushes_;
    if (!resting_.empty()) {
      std::unique_ptr<lua::Interpreter> resting = std::move(resting_.back());
      resting_.pop_back();
      resting->set_bytes_max(bytes_max);
      return resting;
    }
  }
  std::unique_ptr<lua::Interpreter> made = lua::Interpreter::make(bytes_max);
  if (made != nullptr) made->epoch = flushes;
  return made;
}

void Scripts::give_back(std::unique_ptr<lua::Interpreter> interpreter) {
  interpreter->abandon();
  if (interpreter->bytes() > resting_bytes_max) interpreter->collect();
  if (interpreter->bytes() > resting_bytes_max) return;
  const std::lock_guard guard(mutex_);
  if (interpreter->epoch == flushes_ && resting_.size() < resting_max) resting_.push_back(std::move(interpreter));
}

void Scripts::note_running(RunningScript &script) {
  const std::lock_guard guard(mutex_);
  running_.push_back(&script);
}

void Scripts::note_ended(RunningScript &script) {
  const std::lock_guard guard(mutex_);
  std::erase(running_, &script);
}

Scripts::Kill Scripts::kill(Bytes user, bool functions) {
  const std::lock_guard guard(mutex_);
  Kill what = Kill::none;
  for (RunningScript *const script : running_) {
    if (script->user != user) continue;
    if (script->function != functions) {
      if (what == Kill::none) what = Kill::is_other;
      continue;
    }
    script->killed.store(true, std::memory_order_relaxed);
    what = Kill::killed;
  }
  return what;
}

std::optional<RunningFunction> Scripts::running_function(Bytes user) const {
  const std::lock_guard guard(mutex_);
  const RunningScript *longest = nullptr;
  for (const RunningScript *const script : running_)
    if (script->function && script->user == user && (longest == nullptr || script->since_ms < longest->since_ms))
      longest = script;
  if (longest == nullptr) return std::nullopt;
  RunningFunction function{.name = std::string(longest->name), .command = {}, .since_ms = longest->since_ms};
  for (const Bytes argument : longest->command) function.command.emplace_back(argument);
  return function;
}

Scripts::Figures Scripts::figures() const {
  const std::lock_guard guard(mutex_);
  Figures figures{.scripts = scripts_.size(), .script_bytes = bytes_};
  for (const auto &interpreter : resting_) figures.interpreter_bytes += interpreter->bytes();
  return figures;
}

}  // namespace postern::redis
