// values.h: what commands answer as values of Lua, and what scripts return as replies.
#pragma once

#include <array>

#include "base/output.h"
#include "redis/lua/lua.h"
#include "redis/wire/writer.h"

namespace postern::redis::lua {

/// Pushes a reply that is well-formed: maps, sets, doubles and so on as tables with one field that names them, an error
/// as `{err = ...}`. May raise an error of Lua.
void push_reply(lua_State *lua, Bytes reply);

/// Pushes `{err = ...}`. A text without a minus at its beginning gets the word ERR before it.
void push_error(lua_State *lua, Bytes text);

/// Writes the value on top as a reply. Returns false if it is too large. `script` is
/// what the script has chosen by redis.setresp(). May raise an error of Lua.
bool put_result(lua_State *lua, Output &output, Resp client, Resp script);

/// The digits of an argument that is a number; returns how many.
size_t print_number(std::array<char, 32> &room, lua_Number number);

}  // namespace postern::redis::lua
