// cjson_encode.cc: values of Lua as JSON, as lua-cjson 2.1 writes it, in the memory that scripts may have.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "redis/lua/cjson.h"

namespace postern::redis::lua {
namespace {

class Encoder {
 public:
  Encoder(lua_State *lua, const JsonSettings &settings)
      : lua_(lua), settings_(settings), interpreter_(Interpreter::of(lua)) {
    interpreter_.scratch().clear();
  }

  /// The value on top, which stays.
  void put_value() {
    interpreter_.note_work(5);
    switch (lua_type(lua_, -1)) {
      case LUA_TSTRING: return put_string(text_at(lua_, -1));
      case LUA_TNUMBER: return put_number(-1);
      case LUA_TBOOLEAN: return put(lua_toboolean(lua_, -1) != 0 ? Bytes("true") : Bytes("false"));
      case LUA_TTABLE: return put_table();
      case LUA_TNIL: return put("null");
      case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(lua_, -1) == nullptr) return put("null");
        break;
      default: break;
    }
    refuse(-1, "type not supported");
  }
  void push_text() { push(lua_, interpreter_.scratch()); }

 private:
  void put(Bytes text) {
    if (!interpreter_.append_scratch(text)) luaL_error(lua_, "not enough memory");
  }
  void refuse(int index, const char *why) {
    luaL_error(lua_, "Cannot serialise %s: %s", lua_typename(lua_, lua_type(lua_, index)), why);
  }
  void put_string(Bytes text) {
    put("\"");
    for (size_t at = 0; at < text.size();) {
      const size_t plain = static_cast<size_t>(
          std::find_if(text.begin() + static_cast<ptrdiff_t>(at), text.end(), needs_escape) - text.begin());
      put(text.substr(at, plain - at));
      if (plain == text.size()) break;
      put_escaped(text[plain]);
      at = plain + 1;
    }
    put("\"");
  }
  static bool needs_escape(char byte) {
    return static_cast<unsigned char>(byte) < 0x20 || byte == '"' || byte == '\\' || byte == '/' || byte == 0x7f;
  }
  void put_escaped(char byte) {
    constexpr std::string_view named = "\b\t\n\f\r\"\\/";
    constexpr std::string_view letters = "btnfr\"\\/";
    char text[7];
    if (const size_t which = named.find(byte); which != std::string_view::npos)
      std::snprintf(text, sizeof text, "\\%c", letters[which]);
    else std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    put(text);
  }
  void put_number(int index) {
    const double number = lua_tonumber(lua_, index);
    if (!std::isfinite(number)) {
      switch (settings_.encode_invalid_numbers) {
        case JsonSettings::Invalid::refuse: return refuse(index, "must not be NaN or Inf");
        case JsonSettings::Invalid::null: return put("null");
        case JsonSettings::Invalid::keep: break;
      }
      if (std::isnan(number)) return put("nan");
    }
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.*g", settings_.number_precision, number);
    put(digits);
  }
  void put_table() {
    ++depth_;
    if (depth_ > settings_.encode_max_depth || lua_checkstack(lua_, 3) == 0)
      luaL_error(lua_, "Cannot serialise, excessive nesting (%d)", depth_);
    const int size = array_size();
    if (size > 0) put_array(size);
    else put_object();
    --depth_;
  }
  /// The last index of a table that has nothing else; -1: it has.
  int array_size() {
    double last = 0;
    double count = 0;
    for (lua_pushnil(lua_); lua_next(lua_, -2) != 0; lua_pop(lua_, 1)) {
      interpreter_.note_work(1);
      const double key = lua_type(lua_, -2) == LUA_TNUMBER ? lua_tonumber(lua_, -2) : 0;
      if (!(key >= 1) || std::floor(key) != key) {
        lua_pop(lua_, 2);
        return -1;
      }
      last = std::max(last, std::min<double>(key, INT_MAX));
      ++count;
    }
    if (settings_.sparse_ratio > 0 && last > count * settings_.sparse_ratio && last > settings_.sparse_safe) {
      if (!settings_.sparse_convert) refuse(-1, "excessively sparse array");
      return -1;
    }
    return static_cast<int>(last);
  }
  void put_array(int size) {
    put("[");
    for (int i = 1; i <= size; ++i) {
      if (i != 1) put(",");
      lua_rawgeti(lua_, -1, i);
      put_value();
      lua_pop(lua_, 1);
    }
    put("]");
  }
  void put_object() {
    put("{");
    bool first = true;
    for (lua_pushnil(lua_); lua_next(lua_, -2) != 0; lua_pop(lua_, 1)) {
      if (!first) put(",");
      first = false;
      if (lua_type(lua_, -2) == LUA_TNUMBER) {
        put("\"");
        put_number(-2);
        put("\"");
      } else if (lua_type(lua_, -2) == LUA_TSTRING) {
        put_string(text_at(lua_, -2));
      } else {
        refuse(-2, "table key must be a number or string");
      }
      put(":");
      put_value();
    }
    put("}");
  }

  lua_State *const lua_;
  const JsonSettings &settings_;
  Interpreter &interpreter_;
  int depth_ = 0;
};

}  // namespace

int encode_json(lua_State *lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  Encoder encoder(lua, json_settings(lua));
  encoder.put_value();
  encoder.push_text();
  return 1;
}

}  // namespace postern::redis::lua
