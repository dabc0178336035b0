// interpreter.h: Interpreter, a Lua state in Redis's sandbox that runs one script at a time, and stops when the script
// calls a command or has run for a while.
//
// Used by one thread at a time, and by the same one from begin() to the end of the script. Compiled scripts are kept
// for the next run; nothing else is. Its memory is bounded: a script that exceeds the bound gets an error.
//
//   interpreter->begin({.number = 1, .text = "return redis.call('GET', KEYS[1])"}, {.keys = keys});
//   while (interpreter->go_on() == Interpreter::Stopped::call) interpreter->answer(carry_out(interpreter->call()));
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/output.h"
#include "redis/lua/fiber.h"
#include "redis/lua/lua.h"
#include "redis/wire/writer.h"

namespace postern::redis::lua {

/// The text of a script or of a function library. Its `number` is never reused.
struct Source {
  uint64_t number = 0;
  Bytes text{};
  Bytes name{};  ///< in errors
  bool library = false;
};

/// A function that a library registers.
struct RegisteredFunction {
  std::string name;
  std::optional<std::string> description;
  uint32_t flags = 0;  ///< FunctionFlag bits
};

/// The input of a run. Everything outlives the run.
struct Beginning {
  std::span<const Bytes> keys{};
  std::span<const Bytes> arguments{};
  Resp resp = Resp::two;     ///< the client's, for the result
  Output *result = nullptr;  ///< output of the result; after an error or abandon() it may hold a part of one
  Bytes function{};          ///< the function to call, for a library
};

/// The initial `cjson` settings of each script.
struct JsonSettings {
  enum class Invalid : uint8_t { refuse, keep, null };
  bool sparse_convert = false;
  bool keep_buffer = true;
  bool decode_invalid_numbers = true;
  Invalid encode_invalid_numbers = Invalid::refuse;
  int sparse_ratio = 2;
  int sparse_safe = 10;
  int encode_max_depth = 1'000;
  int decode_max_depth = 1'000;
  int number_precision = 14;
};

class Interpreter {
 public:
  enum class Stopped : uint8_t {
    call,    ///< for call(): answer() it, then go on
    paused,  ///< it has run for a while
    ended,   ///< the result is written, or raised() and error() have the error
  };

  /// nullptr: out of memory. `bytes_max` bounds the state's memory.
  static std::unique_ptr<Interpreter> make(size_t bytes_max);
  ~Interpreter();
  Interpreter(const Interpreter &) = delete;
  Interpreter &operator=(const Interpreter &) = delete;

  /// Whether the text compiles. If not, error() has the reason.
  bool compile(const Source &source);
  /// The next go_on() begins the script, or runs a library's text anew and calls its function.
  void begin(const Source &source, const Beginning &beginning);
  /// The next go_on() runs a library's text and adds its functions to `functions`, which outlives that run.
  void begin_load(const Source &source, std::vector<RegisteredFunction> &functions);
  Stopped go_on();
  /// Abandons a script that has not ended.
  void abandon();
  /// Collects all garbage. Not while a script runs.
  void collect();
  /// Forgets all compiled scripts.
  void forget_sources();

  // Valid while it is stopped for a call.

  std::span<const Bytes> call() const { return arguments_; }
  /// The script only asks whether it may call this: an error says no.
  bool asks_only() const { return asks_only_; }
  /// The version of replies that the script has chosen.
  Resp call_resp() const { return call_resp_; }
  /// `reply` lives until the script stops again.
  void answer(Bytes reply) { reply_ = reply; }

  /// For its owner: the version of the cache that its compiled scripts come from.
  uint64_t epoch = 0;

  // Valid when it has ended.

  /// Whether the script ended with an error, which error() has, including its first word.
  bool raised() const { return raised_; }
  /// Without memory for the text it is Lua's own for that.
  Bytes error() const { return error_.empty() ? Bytes("not enough memory") : Bytes(error_); }

  /// Instructions since begin(), in steps of a thousand.
  uint64_t instructions() const { return instructions_; }
  /// Makes it pause after so many more instructions.
  void pause_after(uint64_t instructions) { pause_at_ = instructions_ + instructions; }
  size_t bytes() const { return bytes_ + scratch_.capacity(); }
  void set_bytes_max(size_t bytes) { bytes_max_ = bytes; }

  // For the functions that Lua calls.

  static Interpreter &of(lua_State *lua) {
    void *self = nullptr;
    lua_getallocf(lua, &self);
    return *static_cast<Interpreter *>(self);
  }
  bool running() const { return running_ && !loading_; }
  bool loading() const { return loading_; }
  /// Registers a function of a library that is being loaded. Returns nullptr or an error.
  const char *note_function(Bytes name, const char *description, size_t description_bytes, uint32_t flags) noexcept;
  void set_call_resp(Resp resp) { call_resp_ = resp; }
  /// Takes the arguments of a call from the Lua stack, where they stay. Returns nullptr or an error.
  const char *take_call(lua_State *lua);
  /// Stops for the call. The reply lives until the next stop.
  Bytes stop_for_call(bool asks_only) {
    asks_only_ = asks_only;
    stop(Stopped::call);
    return reply_;
  }
  uint64_t &random_state() { return random_; }
  JsonSettings &json() { return json_; }
  /// A buffer for a function that calls no other. A Lua error may leave bytes in it, which the next user drops.
  std::string &scratch() { return scratch_; }
  /// Returns false if the script may not use so much memory.
  bool append_scratch(Bytes text) noexcept;
  /// Charges the work of a C function as so many instructions.
  void note_work(uint64_t instructions) {
    instructions_ += instructions;
    if (running_ && instructions_ >= pause_at_) stop(Stopped::paused);
  }

 private:
  enum class Task : uint8_t { compile, run, load };

  explicit Interpreter(size_t bytes_max) : bytes_max_(bytes_max) {}
  bool open();

  static void *allocate(void *self, void *block, size_t old_bytes, size_t bytes);
  static void hook(lua_State *lua, lua_Debug *);
  static int make_thread(lua_State *lua);
  static int run_task(lua_State *lua);
  void run();
  void stop(Stopped why) {
    stopped_ = why;
    fiber_->pause();
  }
  /// Pushes the compiled text. False: pushes the error.
  bool push_source(lua_State *lua);
  void run_script(lua_State *lua);
  /// Pushes the function to call.
  void call_and_answer(lua_State *lua, int arguments);
  bool run_library(lua_State *lua);
  void run_function(lua_State *lua);
  void take_error(lua_State *lua);
  void take_load_error(lua_State *lua);
  void set_error(Bytes text) noexcept;

  static constexpr size_t sources_max = 512;

  size_t bytes_ = 0;
  size_t bytes_max_;
  lua_State *lua_ = nullptr;
  lua_State *thread_ = nullptr;  // what scripts run in
  std::unique_ptr<Fiber> fiber_;
  std::unordered_map<uint64_t, int> sources_;  // references of luaL_ref()

  // State of one run.
  Task task_ = Task::run;
  Source source_;
  Beginning beginning_;
  bool running_ = false;
  bool loading_ = false;  // a library's text runs
  bool raised_ = false;
  std::vector<RegisteredFunction> *registered_ = nullptr;
  Stopped stopped_ = Stopped::ended;
  std::string error_;
  std::vector<Bytes> arguments_;
  std::vector<std::array<char, 32>> numbers_;  // the digits of arguments
  Bytes reply_;
  Resp call_resp_ = Resp::two;
  bool asks_only_ = false;
  uint64_t instructions_ = 0;
  uint64_t pause_at_ = 0;
  uint64_t random_ = 0;
  JsonSettings json_;
  std::string scratch_;
};

}  // namespace postern::redis::lua
