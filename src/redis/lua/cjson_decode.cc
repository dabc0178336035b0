// cjson_decode.cc: JSON as values of Lua, as lua-cjson 2.1 reads it.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "redis/lua/cjson.h"

namespace postern::redis::lua {
namespace {

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

/// In the original's words.
const char *name_of(Token token) {
  constexpr std::array names{"T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END", "T_STRING", "T_NUMBER",
                             "T_BOOLEAN",   "T_NULL",    "T_COLON",     "T_COMMA",   "T_END",    "T_ERROR"};
  return names[static_cast<size_t>(token)];
}

/// The text ends with a NUL byte, as all Lua strings do, which also ends the JSON.
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
  /// Numbers that strtod() accepts and JSON does not.
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

}  // namespace

int decode_json(lua_State *lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  size_t size = 0;
  const char *const text = luaL_checklstring(lua, 1, &size);
  if (size >= 2 && (text[0] == '\0' || text[1] == '\0'))
    return luaL_error(lua, "JSON parser does not support UTF-16 or UTF-32");
  Decoder(lua, {text, size}, json_settings(lua)).push_all();
  return 1;
}

}  // namespace postern::redis::lua
