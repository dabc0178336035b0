#include "redis/lua/sandbox.h"

#include <algorithm>
#include <new>

#include "redis/lua/interpreter.h"
#include "redis/lua/libraries.h"
#include "redis/lua/values.h"

namespace postern::redis::lua {
namespace {

// Their addresses are keys of the registry.
constexpr char real_tables_key = 0;  // of stand-ins: the tables that they stand for
constexpr char globals_key = 0;      // the stand-in of the globals
constexpr char real_globals_key = 0;
constexpr char load_globals_key = 0;  // those of a library that is loaded

constexpr const char *read_only = "Attempt to modify a readonly table";

void push_registered(lua_State *lua, const char &key) {
  lua_pushlightuserdata(lua, const_cast<char *>(&key));
  lua_rawget(lua, LUA_REGISTRYINDEX);
}

/// Registers the value on top.
void set_registered(lua_State *lua, const char &key) {
  lua_pushlightuserdata(lua, const_cast<char *>(&key));
  lua_insert(lua, -2);
  lua_rawset(lua, LUA_REGISTRYINDEX);
}

int refuse_change(lua_State *lua) {
  return luaL_error(lua, "%s", read_only);
}

int refuse_unknown(lua_State *lua) {
  if (lua_isstring(lua, 2) == 0)
    return luaL_error(lua, "Second argument to luaProtectedTableError must be a string or number");
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2));
}

/// Puts a stand-in in the place of the table on top.
void push_stand_in(lua_State *lua) {
  const int real = lua_gettop(lua);
  lua_newtable(lua);
  lua_createtable(lua, 0, 3);
  lua_pushvalue(lua, real);
  lua_setfield(lua, -2, "__index");
  set_field(lua, "__newindex", refuse_change);
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  push_registered(lua, real_tables_key);
  lua_pushvalue(lua, -2);
  lua_pushvalue(lua, real);
  lua_rawset(lua, -3);
  lua_pop(lua, 1);
  lua_replace(lua, real);
}

/// Pushes the table that the argument stands for, or returns false.
bool push_real(lua_State *lua, int argument) {
  if (!lua_istable(lua, argument) || lua_getmetatable(lua, argument) == 0) return false;
  lua_pop(lua, 1);
  push_registered(lua, real_tables_key);
  lua_pushvalue(lua, argument);
  lua_rawget(lua, -2);
  lua_remove(lua, -2);
  if (!lua_isnil(lua, -1)) return true;
  lua_pop(lua, 1);
  return false;
}

/// Wraps the function in its first upvalue: replaces a stand-in as first argument by the real table, for reading.
int with_real(lua_State *lua) {
  if (push_real(lua, 1)) lua_replace(lua, 1);
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

/// The same for a function that would change the table.
int unless_read_only(lua_State *lua) {
  if (push_real(lua, 1)) {
    lua_pushstring(lua, read_only);  // without a position, because a C function fails
    return lua_error(lua);
  }
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

int read_pairs(lua_State *lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 1);
  if (push_real(lua, 1)) lua_replace(lua, 1);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_pushnil(lua);
  return 3;
}

/// Replaces a function of the table on top by `guard`, which has it as upvalue.
void guard(lua_State *lua, const char *name, lua_CFunction guard) {
  lua_getfield(lua, -1, name);
  lua_pushcclosure(lua, guard, 1);
  lua_setfield(lua, -2, name);
}

/// Redis returns a command's error as a text, not as the raised table.
int sandboxed_call(lua_State *lua) {
  luaL_checkany(lua, 1);
  const int failed = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
  if (failed != 0 && lua_istable(lua, -1)) {
    lua_getfield(lua, -1, "err");
    if (lua_isstring(lua, -1) != 0) lua_replace(lua, -2);
    else lua_pop(lua, 1);
  }
  lua_pushboolean(lua, failed == 0 ? 1 : 0);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

/// Lua 5.1 computes with `int` and may overflow.
int unpack_table(lua_State *lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const int64_t first = luaL_optint(lua, 2, 1);
  const int64_t last = lua_isnoneornil(lua, 3) ? static_cast<int64_t>(lua_objlen(lua, 1)) : luaL_checkint(lua, 3);
  if (first > last) return 0;
  const int64_t count = last - first + 1;
  if (count > LUAI_MAXCSTACK || lua_checkstack(lua, static_cast<int>(count)) == 0)
    return luaL_error(lua, "too many results to unpack");
  for (int64_t i = first; i <= last; ++i) lua_rawgeti(lua, 1, static_cast<int>(i));
  return static_cast<int>(count);
}

int finish_load(lua_State *lua, Bytes text, const char *name) {
  if (load_text(lua, text, name)) return 1;
  lua_pushnil(lua);
  lua_insert(lua, -2);
  return 2;
}

int load_string(lua_State *lua) {
  size_t size = 0;
  const char *const text = luaL_checklstring(lua, 1, &size);
  return finish_load(lua, {text, size}, luaL_optstring(lua, 2, text));
}

/// Compiles the pieces that a function returns.
int load_pieces(lua_State *lua) {
  luaL_checktype(lua, 1, LUA_TFUNCTION);
  const char *const name = luaL_optstring(lua, 2, "=(load)");
  lua_settop(lua, 2);
  lua_newtable(lua);
  for (int count = 1;; ++count) {
    lua_pushvalue(lua, 1);
    lua_call(lua, 0, 1);
    if (lua_isnil(lua, -1) || (lua_type(lua, -1) == LUA_TSTRING && lua_objlen(lua, -1) == 0)) break;
    if (lua_isstring(lua, -1) == 0) return luaL_error(lua, "reader function must return a string");
    lua_rawseti(lua, 3, count);
  }
  lua_settop(lua, 3);
  lua_getglobal(lua, "table");
  lua_getfield(lua, -1, "concat");
  lua_pushvalue(lua, 3);
  lua_call(lua, 1, 1);
  return finish_load(lua, text_at(lua, -1), name);
}

/// Options that would change garbage collection for later scripts do nothing.
int collect_garbage(lua_State *lua) {
  static const char *const options[] = {"stop", "restart",  "collect",    "count",
                                        "step", "setpause", "setstepmul", nullptr};
  switch (luaL_checkoption(lua, 1, "collect", options)) {
    case 2:
      Interpreter::of(lua).note_work(Interpreter::of(lua).bytes() / 8);
      lua_gc(lua, LUA_GCCOLLECT, 0);
      lua_pushnumber(lua, 0);
      return 1;
    case 3: lua_pushnumber(lua, static_cast<lua_Number>(Interpreter::of(lua).bytes()) / 1024); return 1;
    case 4: lua_pushboolean(lua, lua_gc(lua, LUA_GCSTEP, 0)); return 1;
    default: lua_pushnumber(lua, 0); return 1;
  }
}

void open_library(lua_State *lua, const char *name, lua_CFunction open) {
  lua_pushcfunction(lua, open);
  lua_pushstring(lua, name);
  lua_call(lua, 1, 0);
}

void set_stand_in(lua_State *lua, const char *name) {
  push_stand_in(lua);
  lua_setfield(lua, LUA_GLOBALSINDEX, name);
}

void open_own_libraries(lua_State *lua) {
  open_library(lua, "", luaopen_base);
  for (const char *const gone : {"dofile", "loadfile", "print", "newproxy", "getfenv", "setfenv"}) {
    lua_pushnil(lua);
    lua_setfield(lua, LUA_GLOBALSINDEX, gone);
  }
  open_library(lua, LUA_TABLIBNAME, luaopen_table);
  open_library(lua, LUA_STRLIBNAME, luaopen_string);
  open_library(lua, LUA_MATHLIBNAME, luaopen_math);
}

void replace_base_functions(lua_State *lua) {
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  guard(lua, "next", with_real);
  guard(lua, "rawget", with_real);
  guard(lua, "rawset", unless_read_only);
  guard(lua, "setmetatable", unless_read_only);
  lua_getfield(lua, -1, "next");
  lua_pushcclosure(lua, read_pairs, 1);
  lua_setfield(lua, -2, "pairs");
  set_field(lua, "pcall", sandboxed_call);
  set_field(lua, "unpack", unpack_table);
  set_field(lua, "load", load_pieces);
  set_field(lua, "loadstring", load_string);
  set_field(lua, "collectgarbage", collect_garbage);
  lua_pop(lua, 1);
}

/// Texts have the functions of `string` as methods.
void protect_string_metatable(lua_State *lua) {
  lua_pushliteral(lua, "");
  lua_getmetatable(lua, -1);
  lua_createtable(lua, 0, 1);
  lua_getglobal(lua, "string");
  lua_setfield(lua, -2, "__index");
  push_stand_in(lua);
  lua_setfield(lua, -2, "__metatable");
  lua_pop(lua, 2);
}

void protect_libraries(lua_State *lua) {
  lua_getglobal(lua, "table");
  for (const char *const name : {"insert", "remove", "sort", "setn"}) guard(lua, name, unless_read_only);
  set_stand_in(lua, "table");
  lua_getglobal(lua, "string");
  replace_string_functions(lua);
  set_stand_in(lua, "string");
  lua_getglobal(lua, "math");
  replace_math_functions(lua);
  set_stand_in(lua, "math");
  lua_getglobal(lua, "coroutine");
  set_stand_in(lua, "coroutine");
  protect_string_metatable(lua);
}

void protect_globals(lua_State *lua) {
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  lua_pushvalue(lua, -1);
  set_registered(lua, real_globals_key);
  lua_createtable(lua, 0, 1);
  set_field(lua, "__index", refuse_unknown);
  lua_setmetatable(lua, -2);
  push_stand_in(lua);
  lua_pushvalue(lua, -1);
  set_registered(lua, globals_key);
  lua_pushvalue(lua, -1);
  push_registered(lua, real_globals_key);
  lua_insert(lua, -2);
  lua_setfield(lua, -2, "_G");
  lua_pop(lua, 1);
  lua_replace(lua, LUA_GLOBALSINDEX);
}

void refuse_unknown_fields(lua_State *lua) {
  lua_createtable(lua, 0, 1);
  set_field(lua, "__index", refuse_unknown);
  lua_setmetatable(lua, -2);
}

/// A library that is being loaded sees only `redis`, and of that only the functions for loading.
void make_load_globals(lua_State *lua) {
  lua_createtable(lua, 0, 1);
  push_load_library(lua);
  refuse_unknown_fields(lua);
  push_stand_in(lua);
  lua_setfield(lua, -2, "redis");
  refuse_unknown_fields(lua);
  set_registered(lua, load_globals_key);
}

}  // namespace

int make_sandbox(lua_State *lua) {
  lua_newtable(lua);
  set_registered(lua, real_tables_key);
  // Names of compiled texts: Lua 5.1 may collect that of one which it is about to compile.
  for (const char *const name : {"@user_script", "@user_function"}) {
    lua_pushstring(lua, name);
    lua_pushboolean(lua, 1);
    lua_rawset(lua, LUA_REGISTRYINDEX);
  }
  open_own_libraries(lua);
  replace_base_functions(lua);
  protect_libraries(lua);
  push_redis_library(lua);
  set_stand_in(lua, "redis");
  push_bit_library(lua);
  set_stand_in(lua, "bit");
  push_cjson_library(lua);
  set_stand_in(lua, "cjson");
  push_cmsgpack_library(lua);
  set_stand_in(lua, "cmsgpack");
  push_struct_library(lua);
  set_stand_in(lua, "struct");
  protect_globals(lua);
  make_load_globals(lua);
  return 0;
}

void push_globals(lua_State *lua) {
  push_registered(lua, globals_key);
}

void choose_globals(lua_State *lua, bool loading) {
  push_registered(lua, globals_key);
  lua_getmetatable(lua, -1);
  push_registered(lua, loading ? load_globals_key : real_globals_key);
  lua_setfield(lua, -2, "__index");
  lua_pop(lua, 2);
}

void push_list(lua_State *lua, std::span<const Bytes> values) {
  lua_createtable(lua, static_cast<int>(values.size()), 0);
  int number = 0;
  for (const Bytes value : values) {
    push(lua, value);
    lua_rawseti(lua, -2, ++number);
  }
}

void set_global_list(lua_State *lua, const char *name, std::span<const Bytes> values) {
  push_registered(lua, real_globals_key);
  push_list(lua, values);
  lua_setfield(lua, -2, name);
  lua_pop(lua, 1);
}

bool load_text(lua_State *lua, Bytes text, const char *name) {
  lua_pushstring(lua, name);  // is the very name that Lua uses, and stays
  // Bytecode could do anything. After a blank it is parsed as text, which fails.
  const bool is_bytecode = text.starts_with(LUA_SIGNATURE[0]);
  lua_pushstring(lua, is_bytecode ? " " : "");
  push(lua, is_bytecode ? text : Bytes());
  lua_concat(lua, 2);
  if (is_bytecode) text = text_at(lua, -1);
  const bool loaded = luaL_loadbuffer(lua, text.data(), text.size(), lua_tostring(lua, -2)) == 0;
  lua_remove(lua, -2);
  lua_remove(lua, -2);
  return loaded;
}

int explain_error(lua_State *lua) {
  lua_Debug where{};
  bool known = lua_getstack(lua, 1, &where) != 0 && lua_getinfo(lua, "Sl", &where) != 0;
  if (known && *where.what == 'C') known = lua_getstack(lua, 2, &where) != 0 && lua_getinfo(lua, "Sl", &where) != 0;
  if (!lua_istable(lua, 1)) {
    lua_createtable(lua, 0, 3);
    lua_pushliteral(lua, "ERR ");
    if (lua_isstring(lua, 1) != 0) lua_pushvalue(lua, 1);
    else if (lua_isboolean(lua, 1)) lua_pushstring(lua, lua_toboolean(lua, 1) != 0 ? "true" : "false");
    else lua_pushstring(lua, luaL_typename(lua, 1));
    lua_concat(lua, 2);
    lua_setfield(lua, -2, "err");
    lua_replace(lua, 1);
  }
  lua_settop(lua, 1);
  if (!known) return 1;
  const auto set = [lua](const char *field) {
    lua_pushstring(lua, field);
    lua_insert(lua, -2);
    lua_rawset(lua, 1);
  };
  lua_pushstring(lua, where.source);
  set("source");
  lua_pushinteger(lua, where.currentline);
  set("line");
  return 1;
}

}  // namespace postern::redis::lua
