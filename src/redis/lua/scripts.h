// scripts.h: Scripts, the scripts of one door: compiled texts by their SHA-1, running scripts, and idle interpreters.
//
// Any thread. Scripts are dropped at a restart of the server, by SCRIPT FLUSH, and, least recently used first, when all
// exceed cache_bytes_max.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "redis/lua/interpreter.h"
#include "redis/lua/sha1.h"

namespace postern::redis {

/// Flags that the first line of a script declares: `#!lua flags=no-writes`.
struct ScriptFlags {
  bool declared = false;  ///< whether there is such a line
  bool no_writes = false;
};
/// Returns an error, or an empty text. `bytes`: those of the line, without its end.
std::string read_shebang(Bytes text, ScriptFlags &flags, size_t &bytes);

struct CachedScript {
  uint64_t number = 0;
  std::string name;   ///< its SHA-1
  std::string whole;  ///< as it came
  Bytes text;         ///< the code, without a first line that declares flags
  ScriptFlags flags{};
  /// It has been too much for a turn.
  mutable std::atomic<bool> heavy{false};
};
using CachedScriptRef = std::shared_ptr<const CachedScript>;

/// A running script, which SCRIPT KILL may end.
struct RunningScript {
  std::atomic<bool> killed{false};
  std::string user{};     ///< the account of its client
  bool function = false;  ///< called by FCALL

  // A function's name, as long as it is noted.
  Bytes name{};
  std::span<const Bytes> command{};
  int64_t since_ms = 0;  ///< on the clock of clock_ms()
};

/// A running function, for FUNCTION STATS.
struct RunningFunction {
  std::string name;
  std::vector<std::string> command;
  int64_t since_ms = 0;
};

class Scripts {
 public:
  static constexpr size_t text_bytes_max = size_t{4} << 20;
  static constexpr size_t cache_bytes_max = size_t{64} << 20;
  /// The number of idle interpreters, and the memory bound of each.
  static constexpr size_t resting_max = 16;
  static constexpr size_t resting_bytes_max = size_t{1} << 20;

  /// nullptr: none. Ignores the name's case.
  CachedScriptRef find(Bytes name);
  /// The same by its text, which is faster than by name. nullptr: none, or it is long.
  CachedScriptRef find_text(Bytes whole);
  /// Adds a script; returns the one to use.
  CachedScriptRef add(CachedScriptRef script);
  void flush();
  /// A number for a new text.
  uint64_t next_number() { return last_number_.fetch_add(1, std::memory_order_relaxed) + 1; }

  /// An interpreter for the caller alone. nullptr: out of memory.
  std::unique_ptr<lua::Interpreter> take_interpreter(size_t bytes_max);
  void give_back(std::unique_ptr<lua::Interpreter> interpreter);

  void note_running(RunningScript &script);
  void note_ended(RunningScript &script);
  enum class Kill : uint8_t { none, killed, is_other };
  /// Ends an account's running scripts; `functions`: those of FCALL, otherwise those of EVAL.
  Kill kill(Bytes user, bool functions);

  /// The account's function that has run longest.
  std::optional<RunningFunction> running_function(Bytes user) const;

  struct Figures {
    size_t scripts = 0;
    size_t script_bytes = 0;
    size_t interpreter_bytes = 0;
  };
  Figures figures() const;

 private:
  struct Entry {
    CachedScriptRef script;
    std::list<std::string_view>::iterator place;  // among those in use
  };

  static size_t bytes_of(const CachedScript &script) { return sizeof script + script.whole.size() + 320; }

  std::atomic<uint64_t> last_number_{0};
  mutable std::mutex mutex_;  // a leaf
  /// Longer texts are found only by name.
  static constexpr size_t found_text_bytes_max = size_t{4} << 10;

  CachedScriptRef used_now(const Entry &entry);

  std::unordered_map<std::string_view, Entry> scripts_;
  std::unordered_map<std::string_view, Entry *> by_text_;
  std::list<std::string_view> used_;  // the one used last first
  size_t bytes_ = 0;
  uint64_t flushes_ = 0;
  std::vector<std::unique_ptr<lua::Interpreter>> resting_;
  std::vector<RunningScript *> running_;
};

}  // namespace postern::redis
