#include "redis/lua/function_library.h"

#include <strings.h>

#include <algorithm>

#include "redis/lua/interpreter.h"
#include "redis/lua/values.h"

namespace postern::redis::lua {
namespace {

/// The address is a key of the registry.
constexpr char functions_key = 0;
constexpr size_t name_bytes_max = 250;

void push_function_table(lua_State *lua) {
  lua_pushlightuserdata(lua, const_cast<char *>(&functions_key));
  lua_rawget(lua, LUA_REGISTRYINDEX);
}

int refuse(lua_State *lua, const char *why) {
  push_error(lua, why);
  return lua_error(lua);
}

/// Stack positions of a registration's parts; 0: not given.
struct Registration {
  int name = 0;
  int callback = 0;
  int description = 0;
  uint32_t flags = 0;
};

/// The list of flags is on top. Returns false for one that is unknown.
bool read_flags(lua_State *lua, uint32_t &flags) {
  const int list = lua_gettop(lua);
  for (int i = 1;; ++i) {
    lua_pushinteger(lua, i);
    lua_gettable(lua, list);
    if (lua_isnil(lua, -1)) break;
    if (lua_isstring(lua, -1) == 0) return false;
    const char *const name = lua_tostring(lua, -1);
    uint32_t bit = 1;
    const auto found = std::find_if(std::begin(function_flags), std::end(function_flags), [&](Bytes flag) {
      const bool same = strcasecmp(flag.data(), name) == 0;
      if (!same) bit <<= 1;
      return same;
    });
    if (found == std::end(function_flags)) return false;
    flags |= bit;
    lua_pop(lua, 1);
  }
  lua_settop(lua, list);
  return true;
}

constexpr const char *unknown_argument = "unknown argument given to redis.register_function";

/// Takes one named argument; its value is on top and stays there. Returns nullptr or an error.
const char *take_named(lua_State *lua, const char *key, Registration &registration) {
  const int value = lua_gettop(lua);
  if (strcasecmp(key, "function_name") == 0) {
    if (lua_isstring(lua, value) == 0)
      return "function_name argument given to redis.register_function must be a string";
    registration.name = value;
  } else if (strcasecmp(key, "description") == 0) {
    if (lua_isstring(lua, value) == 0) return "description argument given to redis.register_function must be a string";
    registration.description = value;
  } else if (strcasecmp(key, "callback") == 0) {
    if (!lua_isfunction(lua, value)) return "callback argument given to redis.register_function must be a function";
    registration.callback = value;
  } else if (strcasecmp(key, "flags") == 0) {
    if (!lua_istable(lua, value))
      return "flags argument to redis.register_function must be a table representing function flags";
    if (!read_flags(lua, registration.flags)) return "unknown flag given";
  } else {
    return unknown_argument;
  }
  return nullptr;
}

const char *read_named(lua_State *lua, Registration &registration) {
  if (!lua_istable(lua, 1))
    return "calling redis.register_function with a single argument is only applicable to Lua table (representing named "
           "arguments).";
  lua_pushnil(lua);
  for (int names = 0; lua_next(lua, 1) != 0; ++names) {
    // Names that differ in case alone are the same one, and their values stay on the stack.
    if (lua_type(lua, -2) == LUA_TNUMBER) return unknown_argument;
    if (lua_type(lua, -2) != LUA_TSTRING || names > 64)
      return "named argument key given to redis.register_function is not a string";
    if (const char *const why = take_named(lua, lua_tostring(lua, -2), registration)) return why;
    luaL_checkstack(lua, 8, nullptr);
    lua_pushvalue(lua, -2);  // the key, for the next one
  }
  if (registration.name == 0) return "redis.register_function must get a function name argument";
  if (registration.callback == 0) return "redis.register_function must get a callback argument";
  return nullptr;
}

const char *read_positional(lua_State *lua, Registration &registration) {
  if (lua_isstring(lua, 1) == 0) return "first argument to redis.register_function must be a string";
  if (!lua_isfunction(lua, 2)) return "second argument to redis.register_function must be a function";
  registration.name = 1;
  registration.callback = 2;
  return nullptr;
}

}  // namespace

bool is_function_name(Bytes name) {
  return !name.empty() && name.size() <= name_bytes_max && std::all_of(name.begin(), name.end(), [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
  });
}

void make_function_table(lua_State *lua) {
  lua_pushlightuserdata(lua, const_cast<char *>(&functions_key));
  lua_newtable(lua);
  lua_rawset(lua, LUA_REGISTRYINDEX);
}

bool push_function(lua_State *lua, Bytes name) {
  push_function_table(lua);
  push(lua, name);
  lua_rawget(lua, -2);
  lua_remove(lua, -2);
  return lua_isfunction(lua, -1);
}

int register_function(lua_State *lua) {
  Interpreter &interpreter = Interpreter::of(lua);
  if (!interpreter.loading()) return refuse(lua, "redis.register_function can only be called on FUNCTION LOAD command");
  const int count = lua_gettop(lua);
  if (count < 1 || count > 2) return refuse(lua, "wrong number of arguments to redis.register_function");
  Registration registration;
  const char *why = count == 1 ? read_named(lua, registration) : read_positional(lua, registration);
  if (why != nullptr) return refuse(lua, why);
  size_t description_bytes = 0;
  const char *const description =
      registration.description == 0 ? nullptr : lua_tolstring(lua, registration.description, &description_bytes);
  const Bytes name = text_at(lua, registration.name);
  why = is_function_name(name) ? interpreter.note_function(name, description, description_bytes, registration.flags)
                               : bad_function_name;
  if (why != nullptr) return refuse(lua, why);
  push_function_table(lua);
  lua_pushvalue(lua, registration.name);
  lua_pushvalue(lua, registration.callback);
  lua_rawset(lua, -3);
  return 0;
}

}  // namespace postern::redis::lua
