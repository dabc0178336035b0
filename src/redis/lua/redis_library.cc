// redis_library.cc: the table `redis`, and Redis's own functions in `math`.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/log.h"
#include "redis/lua/function_library.h"
#include "redis/lua/interpreter.h"
#include "redis/lua/libraries.h"
#include "redis/lua/sha1.h"
#include "redis/lua/values.h"

namespace postern::redis::lua {
namespace {

int raise(lua_State *lua, const char *text) {
  push_error(lua, text);
  return lua_error(lua);
}

int carry_out(lua_State *lua, bool raises) {
  Interpreter &interpreter = Interpreter::of(lua);
  if (!interpreter.running()) return raise(lua, "redis.call/pcall can only be called inside a script invocation");
  if (const char *const why = interpreter.take_call(lua)) {
    lua_settop(lua, 0);
    push_error(lua, why);
    return raises ? lua_error(lua) : 1;
  }
  const Bytes reply = interpreter.stop_for_call(false);
  lua_settop(lua, 0);
  push_reply(lua, reply);
  return raises && reply.starts_with('-') ? lua_error(lua) : 1;
}

int call(lua_State *lua) {
  return carry_out(lua, true);
}

int protected_call(lua_State *lua) {
  return carry_out(lua, false);
}

int may_call(lua_State *lua) {
  Interpreter &interpreter = Interpreter::of(lua);
  if (!interpreter.running()) return raise(lua, "redis.acl_check_cmd can only be called inside a script invocation");
  if (const char *const why = interpreter.take_call(lua)) return raise(lua, why);
  const Bytes reply = interpreter.stop_for_call(true);
  lua_settop(lua, 0);
  if (reply.starts_with('-')) {
    push_reply(lua, reply);
    return lua_error(lua);
  }
  lua_pushboolean(lua, 1);
  return 1;
}

int sha1hex(lua_State *lua) {
  if (lua_gettop(lua) != 1) return raise(lua, "wrong number of arguments");
  const std::array<char, sha1_digits> digits = sha1_of(text_at(lua, 1));
  push(lua, {digits.data(), digits.size()});
  return 1;
}

int error_reply(lua_State *lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_error(lua, "wrong number or type of arguments");
    return 1;
  }
  const Bytes text = lua_tostring(lua, 1);
  if (!text.starts_with('-')) {
    lua_pushliteral(lua, "-");
    lua_insert(lua, 1);
    lua_concat(lua, 2);
  }
  push_error(lua, lua_tostring(lua, 1));
  return 1;
}

int status_reply(lua_State *lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_error(lua, "wrong number or type of arguments");
    return 1;
  }
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

int set_resp(lua_State *lua) {
  if (!Interpreter::of(lua).running()) return raise(lua, "redis.setresp can only be called inside a script invocation");
  if (lua_gettop(lua) != 1) return raise(lua, "redis.setresp() requires one argument.");
  const auto resp = static_cast<int>(lua_tonumber(lua, 1));
  if (resp != 2 && resp != 3) return raise(lua, "RESP version must be 2 or 3.");
  Interpreter::of(lua).set_call_resp(resp == 3 ? Resp::three : Resp::two);
  return 0;
}

/// The server's settings decide about the binary log: there is nothing to choose.
int set_repl(lua_State *lua) {
  if (!Interpreter::of(lua).running())
    return raise(lua, "redis.set_repl can only be called inside a script invocation");
  if (lua_gettop(lua) != 1) return raise(lua, "redis.set_repl() requires two arguments.");
  const lua_Number flags = lua_tonumber(lua, 1);
  if (!(flags >= 0 && flags < 4))
    return raise(lua, "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
  return 0;
}

int replicate_commands(lua_State *lua) {
  lua_pushboolean(lua, 1);
  return 1;
}

/// There is no debugger.
int do_nothing(lua_State *lua) {
  lua_pushboolean(lua, 0);
  return 1;
}

constexpr int level_notice = 2;
constexpr int level_warning = 3;

/// The client chooses to log this text, so it may stand in the log.
void log_line(int level, Bytes text) {
  static log::Limited limited(1);
  uint64_t missed = 0;
  constexpr size_t bytes_max = 512;
  const auto size = static_cast<int>(std::min(text.size(), bytes_max));
  if (level < level_notice || !limited.pass(missed)) return;
  if (level == level_warning) log::warning("redis: a script says: %.*s", size, text.data());
  else log::note("redis: a script says: %.*s", size, text.data());
}

int log_text(lua_State *lua) {
  const int count = lua_gettop(lua);
  if (count < 2) return raise(lua, "redis.log() requires two arguments or more.");
  if (lua_isnumber(lua, 1) == 0) return raise(lua, "First argument must be a number (log level).");
  const lua_Number level = lua_tonumber(lua, 1);
  if (!(level >= 0 && level < 4)) return raise(lua, "Invalid debug level.");
  lua_pushliteral(lua, "");
  for (int i = 2; i <= count; ++i) {
    if (lua_isstring(lua, i) == 0) continue;
    if (i != 2) lua_pushliteral(lua, " ");
    lua_pushvalue(lua, i);
    lua_concat(lua, lua_gettop(lua) - count);
  }
  log_line(static_cast<int>(level), text_at(lua, -1));
  return 0;
}

/// Redis's generator, that of drand48(), so that a seed gives the same numbers everywhere.
uint32_t next_random(lua_State *lua) {
  uint64_t &state = Interpreter::of(lua).random_state();
  state = (state * 0x5DEECE66D + 0xB) & 0xFFFF'FFFF'FFFF;
  return static_cast<uint32_t>(state >> 17);
}

int random_number(lua_State *lua) {
  if (!Interpreter::of(lua).running())
    return luaL_error(lua, "math.random can only be called inside a script invocation");
  constexpr uint32_t most = INT32_MAX;
  const lua_Number drawn = static_cast<lua_Number>(next_random(lua) % most) / most;
  switch (lua_gettop(lua)) {
    case 0: lua_pushnumber(lua, drawn); return 1;
    case 1: {
      const lua_Number last = luaL_checkint(lua, 1);
      luaL_argcheck(lua, 1 <= last, 1, "interval is empty");
      lua_pushnumber(lua, std::floor(drawn * last) + 1);
      return 1;
    }
    case 2: {
      const lua_Number first = luaL_checkint(lua, 1);
      const lua_Number last = luaL_checkint(lua, 2);
      luaL_argcheck(lua, first <= last, 2, "interval is empty");
      lua_pushnumber(lua, std::floor(drawn * (last - first + 1)) + first);
      return 1;
    }
    default: return luaL_error(lua, "wrong number of arguments");
  }
}

int seed_random(lua_State *lua) {
  if (!Interpreter::of(lua).running())
    return luaL_error(lua, "math.randomseed can only be called inside a script invocation");
  const auto seed = static_cast<uint32_t>(luaL_checkint(lua, 1));
  Interpreter::of(lua).random_state() = (uint64_t{seed} << 16) | 0x330E;
  return 0;
}

void set_log_and_version(lua_State *lua) {
  set_field(lua, "log", log_text);
  set_field(lua, "LOG_DEBUG", 0.0);
  set_field(lua, "LOG_VERBOSE", 1);
  set_field(lua, "LOG_NOTICE", level_notice);
  set_field(lua, "LOG_WARNING", level_warning);
  lua_pushliteral(lua, "7.0.15");
  lua_setfield(lua, -2, "REDIS_VERSION");
  set_field(lua, "REDIS_VERSION_NUM", 0x0007000F);
}

}  // namespace

void push_redis_library(lua_State *lua) {
  lua_createtable(lua, 0, 32);
  set_field(lua, "call", call);
  set_field(lua, "pcall", protected_call);
  set_field(lua, "acl_check_cmd", may_call);
  set_field(lua, "sha1hex", sha1hex);
  set_field(lua, "error_reply", error_reply);
  set_field(lua, "status_reply", status_reply);
  set_field(lua, "setresp", set_resp);
  set_field(lua, "set_repl", set_repl);
  set_field(lua, "replicate_commands", replicate_commands);
  set_field(lua, "breakpoint", do_nothing);
  set_field(lua, "debug", do_nothing);
  set_log_and_version(lua);
  set_field(lua, "REPL_NONE", 0.0);
  set_field(lua, "REPL_AOF", 1);
  set_field(lua, "REPL_SLAVE", 2);
  set_field(lua, "REPL_REPLICA", 2);
  set_field(lua, "REPL_ALL", 3);
}

void push_load_library(lua_State *lua) {
  lua_createtable(lua, 0, 8);
  set_field(lua, "register_function", register_function);
  set_log_and_version(lua);
}

void replace_math_functions(lua_State *lua) {
  set_field(lua, "random", random_number);
  set_field(lua, "randomseed", seed_random);
}

}  // namespace postern::redis::lua
