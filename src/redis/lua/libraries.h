// libraries.h: the libraries of scripts besides Lua's own. Each pushes its table, and may raise a Lua error.
#pragma once

#include "redis/lua/lua.h"

namespace postern::redis::lua {

void push_redis_library(lua_State *lua);
/// `redis` as a function library sees it while it is loaded.
void push_load_library(lua_State *lua);
void push_bit_library(lua_State *lua);
void push_cjson_library(lua_State *lua);
void push_cmsgpack_library(lua_State *lua);
void push_struct_library(lua_State *lua);

/// Replacements for Lua functions that could run for ever, set in the library on top of the stack.
void replace_string_functions(lua_State *lua);
void replace_math_functions(lua_State *lua);

}  // namespace postern::redis::lua
