// cjson_library.cc: the table `cjson`, and the settings of its functions.
#include <climits>

#include "redis/lua/cjson.h"
#include "redis/lua/libraries.h"

namespace postern::redis::lua {
namespace {

JsonSettings &begin_setting(lua_State *lua, int arguments) {
  luaL_argcheck(lua, lua_gettop(lua) <= arguments, arguments + 1, "found too many arguments");
  lua_settop(lua, arguments);
  return json_settings(lua);
}

void set_integer(lua_State *lua, int argument, int &setting, int least, int most) {
  if (!lua_isnil(lua, argument)) {
    const lua_Integer value = luaL_checkinteger(lua, argument);
    if (value < least || value > most) {
      lua_pushfstring(lua, "expected integer between %d and %d", least, most);
      luaL_argerror(lua, 1, lua_tostring(lua, -1));
    }
    setting = static_cast<int>(value);
  }
  lua_pushinteger(lua, setting);
}

void set_switch(lua_State *lua, int argument, bool &setting) {
  static const char *const options[] = {"off", "on", nullptr};
  if (lua_isboolean(lua, argument)) setting = lua_toboolean(lua, argument) != 0;
  else if (!lua_isnil(lua, argument)) setting = luaL_checkoption(lua, argument, nullptr, options) == 1;
  lua_pushboolean(lua, setting ? 1 : 0);
}

int encode_sparse_array(lua_State *lua) {
  JsonSettings &settings = begin_setting(lua, 3);
  set_switch(lua, 1, settings.sparse_convert);
  set_integer(lua, 2, settings.sparse_ratio, 0, INT_MAX);
  set_integer(lua, 3, settings.sparse_safe, 0, INT_MAX);
  return 3;
}

int encode_max_depth(lua_State *lua) {
  set_integer(lua, 1, begin_setting(lua, 1).encode_max_depth, 1, INT_MAX);
  return 1;
}

int decode_max_depth(lua_State *lua) {
  set_integer(lua, 1, begin_setting(lua, 1).decode_max_depth, 1, INT_MAX);
  return 1;
}

int encode_number_precision(lua_State *lua) {
  set_integer(lua, 1, begin_setting(lua, 1).number_precision, 1, 14);
  return 1;
}

int encode_keep_buffer(lua_State *lua) {
  set_switch(lua, 1, begin_setting(lua, 1).keep_buffer);
  return 1;
}

int decode_invalid_numbers(lua_State *lua) {
  set_switch(lua, 1, begin_setting(lua, 1).decode_invalid_numbers);
  return 1;
}

int encode_invalid_numbers(lua_State *lua) {
  using Invalid = JsonSettings::Invalid;
  static const char *const options[] = {"off", "on", "null", nullptr};
  Invalid &setting = begin_setting(lua, 1).encode_invalid_numbers;
  if (lua_isboolean(lua, 1)) setting = lua_toboolean(lua, 1) != 0 ? Invalid::keep : Invalid::refuse;
  else if (!lua_isnil(lua, 1)) setting = static_cast<Invalid>(luaL_checkoption(lua, 1, nullptr, options));
  if (setting == Invalid::null) lua_pushliteral(lua, "null");
  else lua_pushboolean(lua, setting == Invalid::keep ? 1 : 0);
  return 1;
}

int make_another(lua_State *lua);

/// Replaces the settings on top by a library that uses them.
void push_library(lua_State *lua) {
  const int settings = lua_gettop(lua);
  lua_createtable(lua, 0, 14);
  const auto set = [lua, settings](const char *name, lua_CFunction function) {
    lua_pushvalue(lua, settings);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  };
  set("encode", encode_json);
  set("decode", decode_json);
  set("encode_sparse_array", encode_sparse_array);
  set("encode_max_depth", encode_max_depth);
  set("decode_max_depth", decode_max_depth);
  set("encode_number_precision", encode_number_precision);
  set("encode_keep_buffer", encode_keep_buffer);
  set("encode_invalid_numbers", encode_invalid_numbers);
  set("decode_invalid_numbers", decode_invalid_numbers);
  set("new", make_another);
  lua_pushlightuserdata(lua, nullptr);
  lua_setfield(lua, -2, "null");
  lua_pushliteral(lua, "cjson");
  lua_setfield(lua, -2, "_NAME");
  lua_pushliteral(lua, "2.1.0");
  lua_setfield(lua, -2, "_VERSION");
  lua_remove(lua, settings);
}

int make_another(lua_State *lua) {
  *static_cast<JsonSettings *>(lua_newuserdata(lua, sizeof(JsonSettings))) = JsonSettings{};
  push_library(lua);
  return 1;
}

}  // namespace

void push_cjson_library(lua_State *lua) {
  lua_pushlightuserdata(lua, &Interpreter::of(lua).json());
  push_library(lua);
}

}  // namespace postern::redis::lua
