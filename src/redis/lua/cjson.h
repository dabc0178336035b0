// cjson.h: the functions of `cjson` that decode and encode, and their shared settings.
//
// Each is a closure with its settings as first upvalue.
#pragma once

#include "redis/lua/interpreter.h"

namespace postern::redis::lua {

/// The settings of the running function.
inline JsonSettings &json_settings(lua_State *lua) {
  return *static_cast<JsonSettings *>(lua_touserdata(lua, lua_upvalueindex(1)));
}

int encode_json(lua_State *lua);
int decode_json(lua_State *lua);

}  // namespace postern::redis::lua
