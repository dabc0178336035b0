// interpreter.h: Interpreter, a state of Lua in Redis's sandbox that runs one script at a time, and stops where the
// script calls a command or has run for a while.
//
// Used by one thread at a time, and by the same one from begin() to the end of the script. Compiled
// scripts stay for the next run; nothing else does. Its memory is bounded: a script that wants more hears an error.
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

/// The text of a script, or of a library of functions. No other text ever has its `number`.
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
  uint32_t flags = 0;  ///< bits of FunctionFlag
};

/// The input of a run. Everything outlives the run.
struct Beginning {
  std::span<const Bytes> keys{};
  std::span<const Bytes> arguments{};
  Resp resp = Resp::two;     ///< the client's, for the result
  Output *result = nullptr;  ///< where that is written; with an error, or abandoned, it may have a part of one
  Bytes function{};          ///< of a library: the function to call
};

/// Settings of `cjson`, which each script begins with.
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
    ended,   ///< the result is written, or raised() and error() say why not
  };

  /// nullptr: there is no memory. `bytes_max` bounds the memory of the state.
  static std::unique_ptr<Interpreter> make(size_t bytes_max);
  ~Interpreter();
  Interpreter(const Interpreter &) = delete;
  Interpreter &operator=(const Interpreter &) = delete;

  /// Whether the text is a script. If not, error() says why.
  bool compile(const Source &source);
  /// The next go_on() begins the script, or runs a library's text anew and calls its function.
  void begin(const Source &source, const Beginning &beginning);
  /// The next go_on() runs a library's text, whose functions are added to `functions`, which lives until it has ended.
  void begin_load(const Source &source, std::vector<RegisteredFunction> &functions);
  Stopped go_on();
  /// Leaves a script that has not ended. Nothing of it goes on.
  void abandon();
  /// Collects all garbage. Not while a script runs.
  void collect();
  /// Forgets all compiled scripts.
  void forget_sources();

  // While it is stopped for a call.

  std::span<const Bytes> call() const { return arguments_; }
  /// Which replies the script has asked for.
  Resp call_resp() const { return call_resp_; }
  /// `reply` lives until the script stops again.
  void answer(Bytes reply) { reply_ = reply; }

  /// Which state of a cache its compiled scripts are of; its owner's.
  uint64_t epoch = 0;

  // When it has ended.

  /// The script has ended with an error, which error() has, with its first word.
  bool raised() const { return raised_; }
  const std::string &error() const { return error_; }

  /// Instructions since begin(), to the nearest thousand.
  uint64_t instructions() const { return instructions_; }
  /// It pauses after so many more instructions.
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
  /// A library registers a function while it is loaded. Returns nullptr, or why it cannot.
  const char *note_function(Bytes name, const char *description, size_t description_bytes, uint32_t flags) noexcept;
  void set_call_resp(Resp resp) { call_resp_ = resp; }
  /// Takes the arguments of a call from the stack of Lua, where they stay. Returns nullptr, or why it cannot.
  const char *take_call(lua_State *lua);
  /// Stops for the call. The reply lives until the next stop.
  Bytes stop_for_call() {
    stop(Stopped::call);
    return reply_;
  }
  uint64_t &random_state() { return random_; }
  JsonSettings &json() { return json_; }
  /// Room for a text that a function makes without calling another. An error of Lua may leave bytes in it, which the
  /// next user drops.
  std::string &scratch() { return scratch_; }
  /// Returns false if the script may not have so much memory.
  bool append_scratch(Bytes text) noexcept;
  /// A function of ours did as much as so many instructions.
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
  /// The compiled text is on top. False: why not is on top.
  bool push_source(lua_State *lua);
  void run_script(lua_State *lua);
  /// The function to call is on top.
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

  // State of the run.
  Task task_ = Task::run;
  Source source_;
  Beginning beginning_;
  bool running_ = false;
  bool loading_ = false;  // the text of a library runs
  bool raised_ = false;
  std::vector<RegisteredFunction> *registered_ = nullptr;
  Stopped stopped_ = Stopped::ended;
  std::string error_;
  std::vector<Bytes> arguments_;
  std::vector<std::array<char, 32>> numbers_;  // the digits of arguments
  Bytes reply_;
  Resp call_resp_ = Resp::two;
  uint64_t instructions_ = 0;
  uint64_t pause_at_ = 0;
  uint64_t random_ = 0;
  JsonSettings json_;
  std::string scratch_;
};

}  // namespace postern::redis::lua
