// sandbox.h: what scripts find in a state of Lua: the libraries that Redis gives them, which they cannot change.
//
// Tables of libraries, and the globals, are seen through empty tables that take nothing (stand-ins): Lua 5.1 knows no
// table that is read-only. What would look at such a table past its metatable is replaced.
#pragma once

#include <span>

#include "base/bytes.h"
#include "redis/lua/lua.h"

namespace postern::redis::lua {

/// Opens the libraries. To be called by lua_cpcall().
int make_sandbox(lua_State *lua);
/// Pushes the globals, as scripts see them.
void push_globals(lua_State *lua);
/// Whether the globals are those of a library that is loaded, or those of scripts and functions.
void choose_globals(lua_State *lua, bool loading);
/// Pushes a new list.
void push_list(lua_State *lua, std::span<const Bytes> values);
/// Gives a global the value of a new list. An empty one, too.
void set_global_list(lua_State *lua, const char *name, std::span<const Bytes> values);
/// Compiles a text, and no bytecode. Pushes the function, or returns false with the reason on top.
bool load_text(lua_State *lua, Bytes text, const char *name);
/// What lua_pcall() calls for an error: makes it a table with `err`, and where it was raised.
int explain_error(lua_State *lua);

}  // namespace postern::redis::lua
