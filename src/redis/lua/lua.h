// lua.h: Lua 5.1, included by all of this room.
//
// Lua's errors are longjmps: a function that Lua calls must own nothing that needs a destructor where Lua may raise an
// error, and lets no exception out.
#pragma once

extern "C" {
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
}

#include "base/bytes.h"

namespace postern::redis::lua {

inline Bytes text_at(lua_State *lua, int index) {
  size_t size = 0;
  const char *const text = lua_tolstring(lua, index, &size);
  return text == nullptr ? Bytes{} : Bytes(text, size);
}
inline void push(lua_State *lua, Bytes text) {
  lua_pushlstring(lua, text.data(), text.size());
}
/// Sets a field of the table on top.
inline void set_field(lua_State *lua, const char *name, lua_CFunction function) {
  lua_pushcfunction(lua, function);
  lua_setfield(lua, -2, name);
}
inline void set_field(lua_State *lua, const char *name, lua_Number number) {
  lua_pushnumber(lua, number);
  lua_setfield(lua, -2, name);
}

}  // namespace postern::redis::lua
