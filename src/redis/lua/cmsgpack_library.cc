// cmsgpack_library.cc: the table `cmsgpack`: MessagePack, as lua-cmsgpack 0.4 reads and writes it.
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "redis/lua/interpreter.h"
#include "redis/lua/libraries.h"

namespace postern::redis::lua {
namespace {

/// Tables within tables beyond that are nil.
constexpr int nesting_max = 16;

// --- writing ---------------------------------------------------------------------------------------------------------

class Packer {
 public:
  explicit Packer(lua_State *lua) : lua_(lua), interpreter_(Interpreter::of(lua)) { interpreter_.scratch().clear(); }

  /// The value on top, which it takes.
  void take_value(int level) {
    interpreter_.note_work(5);
    switch (lua_type(lua_, -1)) {
      case LUA_TSTRING: put_text(text_at(lua_, -1)); break;
      case LUA_TBOOLEAN: put_byte(lua_toboolean(lua_, -1) != 0 ? 0xc3 : 0xc2); break;
      case LUA_TNUMBER: put_number(lua_tonumber(lua_, -1)); break;
      case LUA_TTABLE:
        if (level == nesting_max) put_byte(0xc0);
        else put_table(level);
        break;
      default: put_byte(0xc0);
    }
    lua_pop(lua_, 1);
  }

 private:
  void put(Bytes bytes) {
    if (!interpreter_.append_scratch(bytes)) luaL_error(lua_, "not enough memory");
  }
  void put_byte(unsigned byte) {
    const char one = static_cast<char>(byte);
    put({&one, 1});
  }
  /// A byte that says what comes, and a number in so many bytes.
  void put_head(unsigned type, uint64_t number, size_t bytes) {
    char head[9] = {static_cast<char>(type)};
    for (size_t i = bytes; i != 0; --i, number >>= 8) head[i] = static_cast<char>(number & 0xff);
    put({head, bytes + 1});
  }
  void put_text(Bytes text) {
    const size_t size = text.size();
    if (size < 32) put_byte(static_cast<unsigned>(0xa0 | size));
    else if (size <= 0xff) put_head(0xd9, size, 1);
    else if (size <= 0xffff) put_head(0xda, size, 2);
    else put_head(0xdb, size, 4);
    put(text);
  }
  void put_number(double number) {
    // A whole number of 64 bits is written as an integer.
    if (number >= -9223372036854775808.0 && number < 9223372036854775808.0 && std::floor(number) == number)
      return put_integer(static_cast<int64_t>(number));
    const auto narrow = static_cast<float>(number);
    if (static_cast<double>(narrow) == number) {
      uint32_t bits = 0;
      std::memcpy(&bits, &narrow, sizeof bits);
      return put_head(0xca, bits, 4);
    }
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    put_head(0xcb, bits, 8);
  }
  void put_integer(int64_t number) {
    const auto bits = static_cast<uint64_t>(number);
    if (number >= -32 && number <= 127) put_byte(static_cast<unsigned>(bits & 0xff));
    else if (number >= 0 && number <= 0xff) put_head(0xcc, bits, 1);
    else if (number >= 0 && number <= 0xffff) put_head(0xcd, bits, 2);
    else if (number >= 0 && number <= 0xffff'ffff) put_head(0xce, bits, 4);
    else if (number >= 0) put_head(0xcf, bits, 8);
    else if (number >= INT8_MIN) put_head(0xd0, bits, 1);
    else if (number >= INT16_MIN) put_head(0xd1, bits, 2);
    else if (number >= INT32_MIN) put_head(0xd2, bits, 4);
    else put_head(0xd3, bits, 8);
  }
  void put_count(unsigned few, unsigned some, size_t count) {
    if (count <= 15) put_byte(static_cast<unsigned>(few | count));
    else if (count <= 0xffff) put_head(some, count, 2);
    else put_head(some + 1, count, 4);
  }
  /// Whether its keys are 1 up to how many there are; `count`: that, or how many keys there are.
  bool is_list(size_t &count) {
    double last = 0;
    bool list = true;
    count = 0;
    for (lua_pushnil(lua_); lua_next(lua_, -2) != 0; lua_pop(lua_, 1)) {
      interpreter_.note_work(1);
      ++count;
      const double key = lua_type(lua_, -2) == LUA_TNUMBER ? lua_tonumber(lua_, -2) : 0;
      if (!(key > 0 && key <= INT_MAX) || std::floor(key) != key) list = false;
      else if (key > last) last = key;
    }
    return list && last == static_cast<double>(count);
  }
  void put_table(int level) {
    luaL_checkstack(lua_, 4, "in function mp_encode_lua_table_as_map");
    size_t count = 0;
    if (is_list(count)) {
      put_count(0x90, 0xdc, count);
      for (size_t i = 1; i <= count; ++i) {
        lua_rawgeti(lua_, -1, static_cast<int>(i));
        take_value(level + 1);
      }
      return;
    }
    put_count(0x80, 0xde, count);
    for (lua_pushnil(lua_); lua_next(lua_, -2) != 0;) {
      lua_pushvalue(lua_, -2);
      take_value(level + 1);
      take_value(level + 1);
    }
  }

  lua_State *const lua_;
  Interpreter &interpreter_;
};

int pack(lua_State *lua) {
  const int count = lua_gettop(lua);
  if (count == 0) return luaL_argerror(lua, 0, "MessagePack pack needs input.");
  Packer packer(lua);
  luaL_checkstack(lua, 1, "in function mp_check");
  for (int i = 1; i <= count; ++i) {
    lua_pushvalue(lua, i);
    packer.take_value(0);
  }
  push(lua, Interpreter::of(lua).scratch());
  return 1;
}

// --- reading ---------------------------------------------------------------------------------------------------------

class Unpacker {
 public:
  Unpacker(lua_State *lua, Bytes rest) : lua_(lua), rest_(rest) {}

  size_t left() const { return rest_.size(); }

  void push_value() {
    luaL_checkstack(lua_, 3, "too many return values at once; use unpack_one or unpack_limit instead.");
    push_nested();
  }

 private:
  void push_nested() {
    Interpreter::of(lua_).note_work(5);
    const auto type = static_cast<unsigned char>(take(1).front());
    if (type < 0x80) return lua_pushinteger(lua_, type);
    if (type < 0x90) return push_map(type & 0xf);
    if (type < 0xa0) return push_list(type & 0xf);
    if (type < 0xc0) return push(lua_, take(type & 0x1f));
    if (type >= 0xe0) return lua_pushinteger(lua_, static_cast<signed char>(type));
    push_typed(type);
  }

  Bytes take(size_t bytes) {
    if (bytes > rest_.size()) luaL_error(lua_, "Missing bytes in input.");
    const Bytes taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  uint64_t take_number(size_t bytes) {
    uint64_t number = 0;
    for (const char byte : take(bytes)) number = number << 8 | static_cast<unsigned char>(byte);
    return number;
  }
  void push_typed(unsigned char type) {
    switch (type) {
      case 0xc0: return lua_pushnil(lua_);
      case 0xc2: return lua_pushboolean(lua_, 0);
      case 0xc3: return lua_pushboolean(lua_, 1);
      case 0xca: {
        const auto bits = static_cast<uint32_t>(take_number(4));
        float number = 0;
        std::memcpy(&number, &bits, sizeof number);
        return lua_pushnumber(lua_, number);
      }
      case 0xcb: {
        const uint64_t bits = take_number(8);
        double number = 0;
        std::memcpy(&number, &bits, sizeof number);
        return lua_pushnumber(lua_, number);
      }
      case 0xcc: return push_integer(take_number(1));
      case 0xcd: return push_integer(take_number(2));
      case 0xce: return push_integer(take_number(4));
      case 0xcf: return push_integer(take_number(8));
      case 0xd0: return lua_pushinteger(lua_, static_cast<int8_t>(take_number(1)));
      case 0xd1: return lua_pushinteger(lua_, static_cast<int16_t>(take_number(2)));
      case 0xd2: return lua_pushinteger(lua_, static_cast<int32_t>(take_number(4)));
      case 0xd3: return push_integer(take_number(8));
      case 0xd9: return push(lua_, take(take_number(1)));
      case 0xda: return push(lua_, take(take_number(2)));
      case 0xdb: return push(lua_, take(take_number(4)));
      case 0xdc: return push_list(take_number(2));
      case 0xdd: return push_list(take_number(4));
      case 0xde: return push_map(take_number(2));
      case 0xdf: return push_map(take_number(4));
      default: luaL_error(lua_, "Bad data format in input.");
    }
  }
  /// Of 64 bits with a sign, as the original has it.
  void push_integer(uint64_t bits) { lua_pushinteger(lua_, static_cast<lua_Integer>(bits)); }
  void push_list(uint64_t count) {
    luaL_checkstack(lua_, 4, "in function mp_decode_to_lua_array");
    lua_newtable(lua_);
    for (uint64_t i = 1; i <= count; ++i) {
      lua_pushnumber(lua_, static_cast<lua_Number>(i));
      push_nested();
      lua_rawset(lua_, -3);
    }
  }
  void push_map(uint64_t count) {
    luaL_checkstack(lua_, 5, "too many return values at once; use unpack_one or unpack_limit instead.");
    lua_newtable(lua_);
    for (; count != 0; --count) {
      push_nested();
      push_nested();
      lua_rawset(lua_, -3);
    }
  }

  lua_State *const lua_;
  Bytes rest_;
};

/// The bytes are the one argument. With a limit or an offset the next offset is the first result.
int unpack_some(lua_State *lua, lua_Integer limit, lua_Integer offset) {
  size_t size = 0;
  const char *const bytes = luaL_checklstring(lua, 1, &size);
  const bool all = limit == 0 && offset == 0;
  if (offset < 0 || limit < 0)
    return luaL_error(lua, "Invalid request to unpack with offset of %d and limit of %d.", static_cast<int>(offset),
                      static_cast<int>(size));
  if (static_cast<size_t>(offset) > size)
    return luaL_error(lua, "Start offset %d greater than input length %d.", static_cast<int>(offset),
                      static_cast<int>(size));
  if (all) limit = INT_MAX;
  Unpacker unpacker(lua, Bytes(bytes, size).substr(static_cast<size_t>(offset)));
  int count = 0;
  for (; unpacker.left() != 0 && count < limit; ++count) unpacker.push_value();
  if (all) return count;
  luaL_checkstack(lua, 1, "in function mp_unpack_full");
  lua_pushinteger(lua, unpacker.left() == 0 ? -1 : static_cast<lua_Integer>(size - unpacker.left()));
  lua_insert(lua, 2);
  return count + 1;
}

int unpack(lua_State *lua) {
  return unpack_some(lua, 0, 0);
}

int unpack_one(lua_State *lua) {
  const lua_Integer offset = luaL_optinteger(lua, 2, 0);
  lua_settop(lua, 1);
  return unpack_some(lua, 1, offset);
}

int unpack_limit(lua_State *lua) {
  const lua_Integer limit = luaL_checkinteger(lua, 2);
  const lua_Integer offset = luaL_optinteger(lua, 3, 0);
  lua_settop(lua, 1);
  return unpack_some(lua, limit, offset);
}

}  // namespace

void push_cmsgpack_library(lua_State *lua) {
  lua_createtable(lua, 0, 8);
  set_field(lua, "pack", pack);
  set_field(lua, "unpack", unpack);
  set_field(lua, "unpack_one", unpack_one);
  set_field(lua, "unpack_limit", unpack_limit);
  lua_pushliteral(lua, "cmsgpack");
  lua_setfield(lua, -2, "_NAME");
  lua_pushliteral(lua, "lua-cmsgpack 0.4.0");
  lua_setfield(lua, -2, "_VERSION");
  lua_pushliteral(lua, "Copyright (C) 2012, Salvatore Sanfilippo");
  lua_setfield(lua, -2, "_COPYRIGHT");
  lua_pushliteral(lua, "MessagePack C implementation for Lua");
  lua_setfield(lua, -2, "_DESCRIPTION");
}

}  // namespace postern::redis::lua
