// sandbox.h: the environment of scripts in a Lua state: Redis's libraries, which scripts cannot change.
//
// Scripts see the libraries' tables and the globals through empty tables that refuse writes (stand-ins), because Lua
// 5.1 has no read-only tables. Functions that bypass metatables are replaced.
#pragma once

#include <span>

#include "base/bytes.h"
#include "redis/lua/lua.h"

namespace postern::redis::lua {

/// Opens the libraries. Called by lua_cpcall().
int make_sandbox(lua_State *lua);
/// Pushes the globals, as scripts see them.
void push_globals(lua_State *lua);
/// Selects the globals of a library that is being loaded, or those of scripts and functions.
void choose_globals(lua_State *lua, bool loading);
/// Pushes a new list.
void push_list(lua_State *lua, std::span<const Bytes> values);
/// Sets a global to a new list, which may be empty.
void set_global_list(lua_State *lua, const char *name, std::span<const Bytes> values);
/// Compiles a text, refusing bytecode. Pushes the function, or returns false with the error on top.
bool load_text(lua_State *lua, Bytes text, const char *name);
/// The error handler for lua_pcall(): makes the error a table with `err`, and the place where it was raised.
int explain_error(lua_State *lua);

}  // namespace postern::redis::lua
