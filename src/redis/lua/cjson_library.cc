// cjson_library.cc: the table `cjson`: JSON as lua-cjson 2.1 reads and writes it, in the memory that scripts may have.
#include <algorithm>
#include <array>
#include <cmath>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "redis/lua/interpreter.h"
#include "redis/lua/libraries.h"

namespace postern::redis::lua {
namespace {

/// The settings of the function's library.
JsonSettings &settings_of(lua_State *lua) {
  return *static_cast<JsonSettings *>(lua_touserdata(lua, lua_upvalueindex(1)));
}

// --- writing ---------------------------------------------------------------------------------------------------------

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

int encode(lua_State *lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  Encoder encoder(lua, settings_of(lua));
  encoder.put_value();
  encoder.push_text();
  return 1;
}

// --- reading ---------------------------------------------------------------------------------------------------------

enum class Token : uint8_t {
  object_begin,
  object_end,
  array_begin,
  array_end,
  string,
  number,
  boolean,
  null,
  colon,
  comma,
  end,
  error,
};

/// In the words of the original.
const char *name_of(Token token) {
  constexpr std::array names{"T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END", "T_STRING", "T_NUMBER",
                             "T_BOOLEAN",   "T_NULL",    "T_COLON",     "T_COMMA",   "T_END",    "T_ERROR"};
  return names[static_cast<size_t>(token)];
}

/// The text ends with a byte NUL, as all of Lua's do, which is the end of the JSON, too.
class Decoder {
 public:
  Decoder(lua_State *lua, Bytes text, const JsonSettings &settings)
      : lua_(lua), settings_(settings), interpreter_(Interpreter::of(lua)), begin_(text.data()), at_(text.data()) {}

  void push_all() {
    next();
    push_value();
    next();
    if (token_ != Token::end) expected("the end");
  }

 private:
  void next() {
    interpreter_.note_work(1);
    at_ += std::strspn(at_, " \t\n\r");
    index_ = at_ - begin_;
    switch (*at_) {
      case '{': return one_byte(Token::object_begin);
      case '}': return one_byte(Token::object_end);
      case '[': return one_byte(Token::array_begin);
      case ']': return one_byte(Token::array_end);
      case ',': return one_byte(Token::comma);
      case ':': return one_byte(Token::colon);
      case '\0': token_ = Token::end; return;
      case '"': return read_string();
      default: return read_word();
    }
  }
  void one_byte(Token token) {
    token_ = token;
    ++at_;
  }
  void fail(const char *why) {
    token_ = Token::error;
    index_ = at_ - begin_;
    why_ = why;
  }
  bool take_word(std::string_view word) {
    if (std::strncmp(at_, word.data(), word.size()) != 0) return false;
    at_ += word.size();
    return true;
  }
  void read_word() {
    const bool is_number = *at_ == '-' || (*at_ >= '0' && *at_ <= '9');
    if (is_number) {
      if (!settings_.decode_invalid_numbers && is_invalid_number()) return fail("invalid number");
      return read_number();
    }
    if (std::strchr("fiInNt+", *at_) == nullptr) return fail("invalid token");
    token_ = Token::boolean;
    if (take_word("true")) boolean_ = true;
    else if (take_word("false")) boolean_ = false;
    else if (take_word("null")) token_ = Token::null;
    else if (settings_.decode_invalid_numbers && is_invalid_number()) read_number();
    else fail("invalid token");
  }
  /// What strtod() may take and JSON does not.
  bool is_invalid_number() const {
    const char *at = at_;
    if (*at == '+') return true;
    if (*at == '-') ++at;
    if (*at == '0') return (at[1] | 0x20) == 'x' || (at[1] >= '0' && at[1] <= '9');
    if (*at <= '9') return false;
    return ::strncasecmp(at, "inf", 3) == 0 || ::strncasecmp(at, "nan", 3) == 0;
  }
  void read_number() {
    char *end = nullptr;
    number_ = std::strtod(at_, &end);
    if (end == at_) return fail("invalid number");
    token_ = Token::number;
    at_ = end;
  }
  void put(Bytes text) {
    if (!interpreter_.append_scratch(text)) luaL_error(lua_, "not enough memory");
  }
  void read_string() {
    ++at_;
    interpreter_.scratch().clear();
    for (;;) {
      const size_t plain = std::strcspn(at_, "\"\\");
      put({at_, plain});
      at_ += plain;
      if (*at_ == '\0') return fail("unexpected end of string");
      if (*at_ == '"') break;
      if (!read_escape()) return;
    }
    ++at_;
    token_ = Token::string;
  }
  bool read_escape() {
    constexpr std::string_view letters = "btnfr\"\\/";
    constexpr std::string_view meant = "\b\t\n\f\r\"\\/";
    if (at_[1] == 'u') {
      if (read_unicode()) return true;
      fail("invalid unicode escape code");
      return false;
    }
    const size_t which = at_[1] == '\0' ? std::string_view::npos : letters.find(at_[1]);
    if (which == std::string_view::npos) {
      fail("invalid escape code");
      return false;
    }
    put(meant.substr(which, 1));
    at_ += 2;
    return true;
  }
  /// Four digits; negative: they are none.
  static int32_t hexadecimal(const char *digits) {
    int32_t number = 0;
    for (int i = 0; i < 4; ++i) {
      const char digit = digits[i];
      const auto letter = static_cast<char>(digit | 0x20);
      if (digit >= '0' && digit <= '9') number = number * 16 + (digit - '0');
      else if (letter >= 'a' && letter <= 'f') number = number * 16 + (letter - 'a' + 10);
      else return -1;
    }
    return number;
  }
  bool read_unicode() {
    int32_t point = hexadecimal(at_ + 2);
    if (point < 0) return false;
    size_t bytes = 6;
    if ((point & 0xF800) == 0xD800) {
      if ((point & 0x400) != 0 || at_[6] != '\\' || at_[7] != 'u') return false;
      const int32_t low = hexadecimal(at_ + 8);
      if (low < 0 || (low & 0xFC00) != 0xDC00) return false;
      point = (((point & 0x3FF) << 10) | (low & 0x3FF)) + 0x10000;
      bytes = 12;
    }
    at_ += bytes;
    put_utf8(static_cast<uint32_t>(point));
    return true;
  }
  void put_utf8(uint32_t point) {
    std::array<char, 4> utf8;
    size_t size = 1;
    if (point < 0x80) {
      utf8[0] = static_cast<char>(point);
    } else {
      size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      for (size_t i = size; i-- > 1; point >>= 6) utf8[i] = static_cast<char>(0x80 | (point & 0x3F));
      constexpr std::array<uint32_t, 5> heads{0, 0, 0xC0, 0xE0, 0xF0};
      utf8[0] = static_cast<char>(heads[size] | point);
    }
    put({utf8.data(), size});
  }

  void expected(const char *what) {
    const char *const found = token_ == Token::error ? why_ : name_of(token_);
    luaL_error(lua_, "Expected %s but found %s at character %d", what, found, static_cast<int>(index_ + 1));
  }
  void descend(int slots) {
    ++depth_;
    if (depth_ > settings_.decode_max_depth || lua_checkstack(lua_, slots) == 0)
      luaL_error(lua_, "Found too many nested data structures (%d) at character %d", depth_,
                 static_cast<int>(at_ - begin_));
  }
  void push_value() {
    switch (token_) {
      case Token::string: return push(lua_, interpreter_.scratch());
      case Token::number: return lua_pushnumber(lua_, number_);
      case Token::boolean: return lua_pushboolean(lua_, boolean_ ? 1 : 0);
      case Token::object_begin: return push_object();
      case Token::array_begin: return push_array();
      case Token::null: return lua_pushlightuserdata(lua_, nullptr);
      default: return expected("value");
    }
  }
  void push_object() {
    descend(3);
    lua_newtable(lua_);
    next();
    while (token_ != Token::object_end) {
      if (token_ != Token::string) expected("object key string");
      push(lua_, interpreter_.scratch());
      next();
      if (token_ != Token::colon) expected("colon");
      next();
      push_value();
      lua_rawset(lua_, -3);
      next();
      if (token_ == Token::object_end) break;
      if (token_ != Token::comma) expected("comma or object end");
      next();
      if (token_ == Token::object_end) expected("object key string");
    }
    --depth_;
  }
  void push_array() {
    descend(2);
    lua_newtable(lua_);
    next();
    for (int i = 1; token_ != Token::array_end; ++i) {
      push_value();
      lua_rawseti(lua_, -2, i);
      next();
      if (token_ == Token::array_end) break;
      if (token_ != Token::comma) expected("comma or array end");
      next();
      if (token_ == Token::array_end) expected("value");
    }
    --depth_;
  }

  lua_State *const lua_;
  const JsonSettings &settings_;
  Interpreter &interpreter_;
  const char *const begin_;
  const char *at_;
  Token token_ = Token::end;
  ptrdiff_t index_ = 0;  // where the token begins
  const char *why_ = "";
  double number_ = 0;
  bool boolean_ = false;
  int depth_ = 0;
};

int decode(lua_State *lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  size_t size = 0;
  const char *const text = luaL_checklstring(lua, 1, &size);
  if (size >= 2 && (text[0] == '\0' || text[1] == '\0'))
    return luaL_error(lua, "JSON parser does not support UTF-16 or UTF-32");
  Decoder(lua, {text, size}, settings_of(lua)).push_all();
  return 1;
}

// --- settings --------------------------------------------------------------------------------------------------------

JsonSettings &begin_setting(lua_State *lua, int arguments) {
  luaL_argcheck(lua, lua_gettop(lua) <= arguments, arguments + 1, "found too many arguments");
  lua_settop(lua, arguments);
  return settings_of(lua);
}

void set_integer(lua_State *lua, int argument, int &setting, int least, int most) {
  if (!lua_isnil(lua, argument)) {
    const lua_Integer value = luaL_checkinteger(lua, argument);
    if (value < least || value > most) {
      lua_pushfstring(lua, "expected integer between %d and %d", least, most);
      luaL_argerror(lua, 1, lua_tostring(lua, -1));
    }
    setting = static_cast<int>(value);
  }
  lua_pushinteger(lua, setting);
}

void set_switch(lua_State *lua, int argument, bool &setting) {
  static const char *const options[] = {"off", "on", nullptr};
  if (lua_isboolean(lua, argument)) setting = lua_toboolean(lua, argument) != 0;
  else if (!lua_isnil(lua, argument)) setting = luaL_checkoption(lua, argument, nullptr, options) == 1;
  lua_pushboolean(lua, setting ? 1 : 0);
}

int encode_sparse_array(lua_State *lua) {
  JsonSettings &settings = begin_setting(lua, 3);
  set_switch(lua, 1, settings.sparse_convert);
  set_integer(lua, 2, settings.sparse_ratio, 0, INT_MAX);
  set_integer(lua, 3, settings.sparse_safe, 0, INT_MAX);
  return 3;
}

int encode_max_depth(lua_State *lua) {
  set_integer(lua, 1, begin_setting(lua, 1).encode_max_depth, 1, INT_MAX);
  return 1;
}

int decode_max_depth(lua_State *lua) {
  set_integer(lua, 1, begin_setting(lua, 1).decode_max_depth, 1, INT_MAX);
  return 1;
}

int encode_number_precision(lua_State *lua) {
  set_integer(lua, 1, begin_setting(lua, 1).number_precision, 1, 14);
  return 1;
}

int encode_keep_buffer(lua_State *lua) {
  set_switch(lua, 1, begin_setting(lua, 1).keep_buffer);
  return 1;
}

int decode_invalid_numbers(lua_State *lua) {
  set_switch(lua, 1, begin_setting(lua, 1).decode_invalid_numbers);
  return 1;
}

int encode_invalid_numbers(lua_State *lua) {
  using Invalid = JsonSettings::Invalid;
  static const char *const options[] = {"off", "on", "null", nullptr};
  Invalid &setting = begin_setting(lua, 1).encode_invalid_numbers;
  if (lua_isboolean(lua, 1)) setting = lua_toboolean(lua, 1) != 0 ? Invalid::keep : Invalid::refuse;
  else if (!lua_isnil(lua, 1)) setting = static_cast<Invalid>(luaL_checkoption(lua, 1, nullptr, options));
  if (setting == Invalid::null) lua_pushliteral(lua, "null");
  else lua_pushboolean(lua, setting == Invalid::keep ? 1 : 0);
  return 1;
}

int make_another(lua_State *lua);

/// Replaces the settings on top by a library that uses them.
void push_library(lua_State *lua) {
  const int settings = lua_gettop(lua);
  lua_createtable(lua, 0, 14);
  const auto set = [lua, settings](const char *name, lua_CFunction function) {
    lua_pushvalue(lua, settings);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  };
  set("encode", encode);
  set("decode", decode);
  set("encode_sparse_array", encode_sparse_array);
  set("encode_max_depth", encode_max_depth);
  set("decode_max_depth", decode_max_depth);
  set("encode_number_precision", encode_number_precision);
  set("encode_keep_buffer", encode_keep_buffer);
  set("encode_invalid_numbers", encode_invalid_numbers);
  set("decode_invalid_numbers", decode_invalid_numbers);
  set("new", make_another);
  lua_pushlightuserdata(lua, nullptr);
  lua_setfield(lua, -2, "null");
  lua_pushliteral(lua, "cjson");
  lua_setfield(lua, -2, "_NAME");
  lua_pushliteral(lua, "2.1.0");
  lua_setfield(lua, -2, "_VERSION");
  lua_remove(lua, settings);
}

int make_another(lua_State *lua) {
  *static_cast<JsonSettings *>(lua_newuserdata(lua, sizeof(JsonSettings))) = JsonSettings{};
  push_library(lua);
  return 1;
}

}  // namespace

void push_cjson_library(lua_State *lua) {
  lua_pushlightuserdata(lua, &Interpreter::of(lua).json());
  push_library(lua);
}

}  // namespace postern::redis::lua
