// values.h: converts commands' replies to Lua values, and scripts' results to replies.
#pragma once

#include <array>

#include "base/output.h"
#include "redis/lua/lua.h"
#include "redis/wire/writer.h"

namespace postern::redis::lua {

/// Pushes a well-formed reply: maps, sets, doubles and so on as tables with one field named after the type, an error as
/// `{err = ...}`. May raise a Lua error.
void push_reply(lua_State *lua, Bytes reply);

/// Pushes `{err = ...}`. A text that does not begin with a minus gets the prefix ERR.
void push_error(lua_State *lua, Bytes text);

/// Writes the value on top as a reply. Returns false if it is too large. `script`: the version chosen by
/// redis.setresp(). May raise a Lua error.
bool put_result(lua_State *lua, Output &output, Resp client, Resp script);

/// Writes the digits of a numeric argument; returns their number.
size_t print_number(std::array<char, 32> &room, lua_Number number);

}  // namespace postern::redis::lua
