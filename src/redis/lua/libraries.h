// libraries.h: the libraries of scripts that are not Lua's own. Each pushes its table, and may raise an error of Lua.
#pragma once

#include "redis/lua/lua.h"

namespace postern::redis::lua {

void push_redis_library(lua_State *lua);
/// `redis`, as a library of functions finds it while it is loaded.
void push_load_library(lua_State *lua);
void push_bit_library(lua_State *lua);
void push_cjson_library(lua_State *lua);
void push_cmsgpack_library(lua_State *lua);
void push_struct_library(lua_State *lua);

/// Those of Lua's own that could run for ever, or without a bound, in the library that is on top.
void replace_string_functions(lua_State *lua);
void replace_math_functions(lua_State *lua);

}  // namespace postern::redis::lua
