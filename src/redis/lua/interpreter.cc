#include "redis/lua/interpreter.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/clock.h"
#include "redis/lua/function_library.h"
#include "redis/lua/sandbox.h"
#include "redis/lua/values.h"

namespace postern::redis::lua {
namespace {

/// Instructions between two calls of the hook.
constexpr int hook_instructions = 1'000;
/// The address is a key of the registry.
constexpr char thread_key = 0;
constexpr const char *script_not_compiled = "ERR Error compiling script (new function): ";
constexpr const char *library_not_compiled = "ERR Error compiling function: ";

}  // namespace

std::unique_ptr<Interpreter> Interpreter::make(size_t bytes_max) {
  std::unique_ptr<Interpreter> made(new Interpreter(bytes_max));
  return made->open() ? std::move(made) : nullptr;
}

bool Interpreter::open() {
  fiber_ = Fiber::make([](void *self) { static_cast<Interpreter *>(self)->run(); }, this);
  if (fiber_ == nullptr) return false;
  lua_ = lua_newstate(allocate, this);
  return lua_ != nullptr && lua_cpcall(lua_, make_sandbox, nullptr) == 0;
}

Interpreter::~Interpreter() {
  if (lua_ != nullptr) lua_close(lua_);
}

/// Refuses allocations beyond the script's bound, or when memory runs out.
void *Interpreter::allocate(void *self, void *block, size_t old_bytes, size_t bytes) {
  auto &interpreter = *static_cast<Interpreter *>(self);
  if (bytes == 0) {
    std::free(block);
    interpreter.bytes_ -= old_bytes;
    return nullptr;
  }
  const size_t before = block == nullptr ? 0 : old_bytes;
  // Lua counts on smaller blocks.
  if (bytes > before && bytes - before > interpreter.bytes_max_ - std::min(interpreter.bytes_, interpreter.bytes_max_))
    return nullptr;
  void *const made = std::realloc(block, bytes);
  if (made != nullptr) interpreter.bytes_ += bytes - before;
  return made;
}

int Interpreter::make_thread(lua_State *lua) {
  lua_pushlightuserdata(lua, const_cast<char *>(&thread_key));
  Interpreter::of(lua).thread_ = lua_newthread(lua);
  lua_rawset(lua, LUA_REGISTRYINDEX);
  return 0;
}

bool Interpreter::compile(const Source &source) {
  task_ = Task::compile;
  source_ = source;
  go_on();
  return !raised_;
}

void Interpreter::begin_load(const Source &source, std::vector<RegisteredFunction> &functions) {
  begin(source, {});
  task_ = Task::load;
  registered_ = &functions;
}

void Interpreter::begin(const Source &source, const Beginning &beginning) {
  abandon();
  task_ = Task::run;
  source_ = source;
  beginning_ = beginning;
  registered_ = nullptr;
  call_resp_ = Resp::two;
  instructions_ = 0;
  pause_after(UINT64_MAX / 2);
  json_ = {};
  random_ = static_cast<uint64_t>(clock_us()) * 0x9E3779B97F4A7C15;
}

Interpreter::Stopped Interpreter::go_on() {
  fiber_->resume();
  return stopped_;
}

void Interpreter::abandon() {
  if (stopped_ == Stopped::ended) return;
  // Its Lua thread becomes garbage with everything in it.
  stopped_ = Stopped::ended;
  running_ = loading_ = false;
  thread_ = nullptr;
  fiber_->start_over();
}

void Interpreter::collect() {
  scratch_ = {};
  lua_gc(lua_, LUA_GCCOLLECT, 0);  // raises nothing: there are no finalizers
}

void Interpreter::forget_sources() {
  for (const auto &[number, reference] : sources_) luaL_unref(lua_, LUA_REGISTRYINDEX, reference);
  sources_.clear();
}

/// On the fiber.
void Interpreter::run() {
  for (;;) {
    raised_ = false;
    error_.clear();
    running_ = task_ != Task::compile;
    loading_ = false;
    int failed = 0;
    if (thread_ == nullptr) failed = lua_cpcall(lua_, make_thread, nullptr);
    if (failed == 0) failed = lua_cpcall(thread_, run_task, this);
    if (failed != 0) {
      lua_State *const where = thread_ == nullptr ? lua_ : thread_;
      set_error(lua_type(where, -1) == LUA_TSTRING ? text_at(where, -1) : Bytes("not enough memory"));
      lua_settop(where, 0);
    }
    running_ = false;
    stop(Stopped::ended);
  }
}

int Interpreter::run_task(lua_State *lua) {
  auto &interpreter = *static_cast<Interpreter *>(lua_touserdata(lua, 1));
  lua_settop(lua, 0);
  // A script may have given its thread another environment.
  push_globals(lua);
  lua_replace(lua, LUA_GLOBALSINDEX);
  // So may one that was abandoned while it was loaded.
  choose_globals(lua, false);
  if (interpreter.task_ == Task::compile) {
    if (!interpreter.push_source(lua)) interpreter.take_error(lua);
  } else if (interpreter.task_ == Task::load) {
    interpreter.run_library(lua);
  } else if (interpreter.source_.library) {
    interpreter.run_function(lua);
  } else {
    interpreter.run_script(lua);
  }
  return 0;
}

bool Interpreter::push_source(lua_State *lua) {
  if (const auto known = sources_.find(source_.number); known != sources_.end()) {
    lua_rawgeti(lua, LUA_REGISTRYINDEX, known->second);
    return true;
  }
  if (!load_text(lua, source_.text, source_.library ? "@user_function" : "@user_script")) {
    lua_pushstring(lua, source_.library ? library_not_compiled : script_not_compiled);
    lua_insert(lua, -2);
    lua_concat(lua, 2);
    return false;
  }
  if (sources_.size() >= sources_max) forget_sources();
  lua_pushvalue(lua, -1);
  const int reference = luaL_ref(lua, LUA_REGISTRYINDEX);
  try {
    sources_.emplace(source_.number, reference);
  } catch (const std::bad_alloc &) {
    luaL_unref(lua, LUA_REGISTRYINDEX, reference);
  }
  return true;
}

void Interpreter::run_script(lua_State *lua) {
  lua_pushcfunction(lua, explain_error);
  if (!push_source(lua)) return take_error(lua);
  push_globals(lua);
  lua_setfenv(lua, -2);
  set_global_list(lua, "KEYS", beginning_.keys);
  set_global_list(lua, "ARGV", beginning_.arguments);
  call_and_answer(lua, 0);
}

/// The error handler is at the bottom of the stack.
void Interpreter::call_and_answer(lua_State *lua, int arguments) {
  lua_sethook(lua, hook, LUA_MASKCOUNT, hook_instructions);
  const int failed = lua_pcall(lua, arguments, 1, 1);
  lua_sethook(lua, nullptr, 0, 0);
  if (failed != 0) return take_error(lua);
  if (!put_result(lua, *beginning_.result, beginning_.resp, call_resp_))
    set_error("ERR the result of the script is too large");
}

/// Returns false after taking an error.
bool Interpreter::run_library(lua_State *lua) {
  make_function_table(lua);
  if (!push_source(lua)) return take_error(lua), false;
  push_globals(lua);
  lua_setfenv(lua, -2);
  choose_globals(lua, true);
  loading_ = true;
  lua_sethook(lua, hook, LUA_MASKCOUNT, hook_instructions);
  const int failed = lua_pcall(lua, 0, 0, 0);
  lua_sethook(lua, nullptr, 0, 0);
  loading_ = false;
  choose_globals(lua, false);
  if (failed != 0) take_load_error(lua);
  return failed == 0;
}

void Interpreter::run_function(lua_State *lua) {
  lua_pushcfunction(lua, explain_error);
  if (!run_library(lua)) return;
  if (!push_function(lua, beginning_.function)) return set_error("ERR Function not found");
  push_list(lua, beginning_.keys);
  push_list(lua, beginning_.arguments);
  call_and_answer(lua, 2);
}

const char *Interpreter::note_function(Bytes name, const char *description, size_t description_bytes,
                                       uint32_t flags) noexcept {
  constexpr size_t functions_max = 10'000;
  constexpr size_t description_bytes_max = size_t{64} << 10;
  if (registered_ == nullptr) return nullptr;  // it was noted when its library was loaded first
  if (description_bytes > description_bytes_max) return "the description of the function is too long";
  if (registered_->size() >= functions_max) return "the library has too many functions";
  const auto same = [name](const RegisteredFunction &one) {
    return std::ranges::equal(one.name, name, [](char left, char right) {
      return std::tolower(static_cast<unsigned char>(left)) == std::tolower(static_cast<unsigned char>(right));
    });
  };
  if (std::any_of(registered_->begin(), registered_->end(), same)) return "Function already exists in the library";
  try {
    RegisteredFunction function{.name = std::string(name), .description = {}, .flags = flags};
    if (description != nullptr) function.description.emplace(description, description_bytes);
    registered_->push_back(std::move(function));
  } catch (const std::bad_alloc &) {
    return "not enough memory";
  }
  return nullptr;
}

/// The error is on top: a text, or a table with `err`.
void Interpreter::take_load_error(lua_State *lua) {
  const bool is_table = lua_istable(lua, -1);
  if (is_table) {
    lua_pushliteral(lua, "err");
    lua_rawget(lua, -2);
  }
  const Bytes text = lua_type(lua, -1) == LUA_TSTRING ? text_at(lua, -1) : Bytes("unknown error");
  raised_ = true;
  try {
    error_ = is_table ? "ERR Error registering functions: " : "ERR Error registering functions: ERR ";
    error_.append(text);
  } catch (const std::bad_alloc &) {
    error_.clear();
  }
}

/// The error is on top: a text, or a table as explain_error() makes it.
void Interpreter::take_error(lua_State *lua) {
  if (lua_type(lua, -1) == LUA_TSTRING) return set_error(text_at(lua, -1));
  if (!lua_istable(lua, -1)) return set_error("ERR Error running script: execution failure");
  const int table = lua_gettop(lua);
  // No code of the script, such as a metatable of the error, may run any more.
  for (const char *const field : {"err", "source", "line"}) {
    lua_pushstring(lua, field);
    lua_rawget(lua, table);
  }
  const Bytes text = lua_isstring(lua, table + 1) ? text_at(lua, table + 1) : Bytes("ERR unknown error");
  if (!lua_isstring(lua, table + 2) || !lua_isstring(lua, table + 3)) return set_error(text);
  raised_ = true;
  try {
    error_ = text;
    error_.append(" script: ").append(source_.name).append(", on ");
    error_.append(text_at(lua, table + 2)).append(":").append(text_at(lua, table + 3)).append(".");
  } catch (const std::bad_alloc &) {
    error_.clear();
  }
}

void Interpreter::set_error(Bytes text) noexcept {
  raised_ = true;
  try {
    error_ = text;
  } catch (const std::bad_alloc &) {
    error_.clear();
  }
}

const char *Interpreter::take_call(lua_State *lua) {
  const int count = lua_gettop(lua);
  if (count == 0) return "Please specify at least one argument for this redis lib call";
  try {
    arguments_.clear();
    arguments_.resize(static_cast<size_t>(count));
    if (numbers_.size() < arguments_.size()) numbers_.resize(arguments_.size());
  } catch (const std::bad_alloc &) {
    return "not enough memory";
  }
  for (int i = 1; i <= count; ++i) {
    Bytes &argument = arguments_[static_cast<size_t>(i) - 1];
    if (lua_type(lua, i) == LUA_TNUMBER) {
      // Lua's own format would lose digits.
      std::array<char, 32> &room = numbers_[static_cast<size_t>(i) - 1];
      argument = {room.data(), print_number(room, lua_tonumber(lua, i))};
    } else if (lua_type(lua, i) == LUA_TSTRING) {
      argument = text_at(lua, i);
    } else {
      return "Lua redis lib command arguments must be strings or integers";
    }
  }
  return nullptr;
}

bool Interpreter::append_scratch(Bytes text) noexcept {
  if (scratch_.size() + text.size() > bytes_max_ - std::min(bytes_, bytes_max_)) return false;
  try {
    scratch_.append(text);
    return true;
  } catch (const std::bad_alloc &) {
    return false;
  }
}

void Interpreter::hook(lua_State *lua, lua_Debug *) {
  of(lua).note_work(hook_instructions);
}

}  // namespace postern::redis::lua
