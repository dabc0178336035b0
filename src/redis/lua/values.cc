#include "redis/lua/values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "base/limits.h"
#include "redis/lua/interpreter.h"
#include "redis/wire/numbers.h"

namespace postern::redis::lua {
namespace {

Bytes without_last_line_ends(Bytes text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

Bytes without_line_ends(Bytes text) {
  while (text.starts_with('\n') || text.starts_with('\r')) text.remove_prefix(1);
  return without_last_line_ends(text);
}

/// Reads replies one after the other. The door wrote them, so they are well-formed.
class ReplyReader {
 public:
  ReplyReader(lua_State *lua, Bytes replies) : lua_(lua), rest_(replies) {}

  void push_next() {
    Interpreter::of(lua_).note_work(1);
    luaL_checkstack(lua_, 8, "in a reply");
    const char type = rest_.empty() ? '_' : rest_.front();
    const Bytes line = take_line();
    switch (type) {
      case '+': return push_tagged("ok", line);
      case '-': return push_failure(line);
      case ':': return lua_pushnumber(lua_, static_cast<lua_Number>(number_in(line)));
      case ',': return push_double(line);
      case '(': return push_tagged("big_number", line);
      case '#': return lua_pushboolean(lua_, line == "t");
      case '$': return push_bulk(line);
      case '=': return push_verbatim(line);
      case '*': return push_array(line);
      case '~':
      case '%': return push_members(type == '%', line);
      default: return lua_pushnil(lua_);
    }
  }

 private:
  /// Without the byte that it begins with.
  Bytes take_line() {
    const size_t end = std::min(rest_.find("\r\n"), rest_.size());
    const Bytes line = rest_.substr(std::min<size_t>(1, end), end - std::min<size_t>(1, end));
    rest_.remove_prefix(std::min(end + 2, rest_.size()));
    return line;
  }
  Bytes take(int64_t bytes) {
    const Bytes taken = rest_.substr(0, static_cast<size_t>(bytes));
    rest_.remove_prefix(std::min(taken.size() + 2, rest_.size()));
    return taken;
  }
  static int64_t number_in(Bytes line) {
    int64_t number = 0;
    return parse_integer(line, number) ? number : 0;
  }

  void push_tagged(const char *tag, Bytes text) {
    lua_createtable(lua_, 0, 1);
    push(lua_, text);
    lua_setfield(lua_, -2, tag);
  }
  void push_failure(Bytes line) {
    const size_t blank = line.find(' ');
    lua_createtable(lua_, 0, 2);
    if (blank == Bytes::npos) lua_pushliteral(lua_, "ERR ");
    else lua_pushliteral(lua_, "");
    push(lua_, line);
    lua_concat(lua_, 2);
    lua_setfield(lua_, -2, "err");
    lua_pushboolean(lua_, 1);
    lua_setfield(lua_, -2, "ignore_error_stats_update");
  }
  void push_double(Bytes line) {
    double number = 0;
    if (!parse_double(line, number)) number = std::numeric_limits<double>::quiet_NaN();
    lua_createtable(lua_, 0, 1);
    lua_pushnumber(lua_, number);
    lua_setfield(lua_, -2, "double");
  }
  void push_bulk(Bytes line) {
    const int64_t bytes = number_in(line);
    if (bytes < 0) return lua_pushboolean(lua_, 0);
    push(lua_, take(bytes));
  }
  void push_verbatim(Bytes line) {
    const Bytes text = take(number_in(line));
    lua_createtable(lua_, 0, 1);
    lua_createtable(lua_, 0, 2);
    push(lua_, text.substr(std::min<size_t>(4, text.size())));
    lua_setfield(lua_, -2, "string");
    push(lua_, text.substr(0, 3));
    lua_setfield(lua_, -2, "format");
    lua_setfield(lua_, -2, "verbatim_string");
  }
  void push_array(Bytes line) {
    const int64_t count = number_in(line);
    if (count < 0) return lua_pushboolean(lua_, 0);
    lua_createtable(lua_, static_cast<int>(std::min<int64_t>(count, 1'000'000)), 0);
    for (int64_t i = 1; i <= count; ++i) {
      push_next();
      lua_rawseti(lua_, -2, static_cast<int>(i));
    }
  }
  void push_members(bool map, Bytes line) {
    const int64_t count = number_in(line);
    lua_createtable(lua_, 0, 1);
    lua_createtable(lua_, 0, static_cast<int>(std::min<int64_t>(count, 1'000'000)));
    for (int64_t i = 0; i < count; ++i) {
      push_next();
      if (map) push_next();
      else lua_pushboolean(lua_, 1);
      lua_rawset(lua_, -3);
    }
    lua_setfield(lua_, -2, map ? "map" : "set");
  }

  lua_State *const lua_;
  Bytes rest_;
};

/// Writes a value of Lua. Nothing of the script runs meanwhile: no metatable is asked.
class ResultWriter {
 public:
  ResultWriter(lua_State *lua, Output &output, Resp client, Resp script)
      : lua_(lua), output_(output), writer_(output, client), script_(script) {}

  bool too_large() const { return too_large_; }

  /// The value on top, which stays.
  void put() {
    Interpreter::of(lua_).note_work(1);  // a table that is in itself twice makes a long reply
    if (too_large_ || output_.pending_bytes() > limits::edit_reply_bytes_max) {
      too_large_ = true;
      return;
    }
    if (!lua_checkstack(lua_, 4)) return writer_.error("ERR reached lua stack limit");
    switch (lua_type(lua_, -1)) {
      case LUA_TSTRING: return writer_.bulk(text_at(lua_, -1));
      case LUA_TBOOLEAN: return put_boolean(lua_toboolean(lua_, -1) != 0);
      case LUA_TNUMBER: return writer_.integer(integer_of(lua_tonumber(lua_, -1)));
      case LUA_TTABLE: return put_table();
      default: return writer_.nil();
    }
  }

 private:
  static int64_t integer_of(lua_Number number) {
    constexpr lua_Number end = 9223372036854775808.0;
    return number >= -end && number < end ? static_cast<int64_t>(number) : std::numeric_limits<int64_t>::min();
  }
  void put_boolean(bool value) {
    if (script_ == Resp::three && writer_.three()) return output_.put(value ? Bytes("#t\r\n") : Bytes("#f\r\n"));
    if (value) writer_.integer(1);
    else if (script_ == Resp::three) writer_.integer(0);
    else writer_.nil();
  }
  /// Pushes a field of the table on top; true if it has that type. It stays anyway.
  bool field(const char *name, int type) {
    lua_pushstring(lua_, name);
    lua_rawget(lua_, -2);
    return lua_type(lua_, -1) == type;
  }
  void put_table() {
    const int top = lua_gettop(lua_);
    if (field("err", LUA_TSTRING)) put_error();
    else if (field_after("ok", LUA_TSTRING)) put_line('+');
    else if (field_after("double", LUA_TNUMBER)) writer_.number(lua_tonumber(lua_, -1));
    else if (field_after("big_number", LUA_TSTRING)) put_big_number();
    else if (field_after("verbatim_string", LUA_TTABLE) && put_verbatim()) {
    } else if (field_at(top, "map", LUA_TTABLE)) put_members(true);
    else if (field_at(top, "set", LUA_TTABLE)) put_members(false);
    else put_array(top);
    lua_settop(lua_, top);
  }
  bool field_after(const char *name, int type) {
    lua_pop(lua_, 1);
    return field(name, type);
  }
  bool field_at(int table, const char *name, int type) {
    lua_settop(lua_, table);
    return field(name, type);
  }
  void put_error() { writer_.error(without_last_line_ends(text_at(lua_, -1))); }
  /// Like a C string, with blanks in place of line ends.
  void put_line(char type) {
    const Bytes text = lua_tostring(lua_, -1);
    output_.put(type);
    for (const char byte : text) output_.put(byte == '\r' || byte == '\n' ? ' ' : byte);
    output_.put(Bytes("\r\n"));
  }
  void put_big_number() {
    if (writer_.three()) return put_line('(');
    std::string digits = lua_tostring(lua_, -1);
    std::ranges::replace_if(
        digits, [](char byte) { return byte == '\r' || byte == '\n'; }, ' ');
    writer_.bulk(digits);
  }
  bool put_verbatim() {
    if (!field("format", LUA_TSTRING)) return false;
    lua_pushstring(lua_, "string");
    lua_rawget(lua_, -3);
    if (lua_type(lua_, -1) != LUA_TSTRING) return false;
    const Bytes text = text_at(lua_, -1);
    if (!writer_.three()) return writer_.bulk(text), true;
    std::array<char, 5> format{' ', ' ', ' ', ':', '\0'};
    const Bytes given = text_at(lua_, -2);
    std::copy_n(given.begin(), std::min<size_t>(3, given.size()), format.begin());
    output_.put('=');
    output_.put_natural(text.size() + 4);
    output_.put(Bytes("\r\n"));
    output_.put(Bytes(format.data(), 4));
    output_.put(text);
    output_.put(Bytes("\r\n"));
    return true;
  }
  void put_members(bool map) {
    size_t count = 0;
    for (lua_pushnil(lua_); lua_next(lua_, -2) != 0; lua_pop(lua_, 1)) ++count;
    if (map) writer_.map(count);
    else writer_.set(count);
    for (lua_pushnil(lua_); lua_next(lua_, -2) != 0;) {
      lua_pushvalue(lua_, -2);
      put();
      lua_pop(lua_, 1);
      if (map) put();
      lua_pop(lua_, 1);
    }
  }
  void put_array(int table) {
    lua_settop(lua_, table);
    int count = 0;
    for (bool more = true; more; lua_pop(lua_, 1)) {
      lua_rawgeti(lua_, table, count + 1);
      more = !lua_isnil(lua_, -1);
      if (more) ++count;
    }
    writer_.array(static_cast<size_t>(count));
    for (int i = 1; i <= count; ++i) {
      lua_rawgeti(lua_, table, i);
      put();
      lua_pop(lua_, 1);
    }
  }

  lua_State *const lua_;
  Output &output_;
  Writer writer_;
  const Resp script_;
  bool too_large_ = false;
};

}  // namespace

void push_reply(lua_State *lua, Bytes reply) {
  ReplyReader(lua, reply).push_next();
}

void push_error(lua_State *lua, Bytes text) {
  lua_createtable(lua, 0, 1);
  const size_t blank = text.starts_with('-') ? text.find(' ') : Bytes::npos;
  if (text.starts_with('-')) text.remove_prefix(1);
  const Bytes word = blank == Bytes::npos ? Bytes("ERR ") : text.substr(0, blank);
  if (blank != Bytes::npos) text.remove_prefix(blank);
  push(lua, word);
  push(lua, without_line_ends(text));
  lua_concat(lua, 2);
  lua_setfield(lua, -2, "err");
}

bool put_result(lua_State *lua, Output &output, Resp client, Resp script) {
  ResultWriter result(lua, output, client, script);
  result.put();
  return !result.too_large() && !output.broken();
}

size_t print_number(std::array<char, 32> &room, lua_Number number) {
  return static_cast<size_t>(std::snprintf(room.data(), room.size(), "%.17g", number));
}

}  // namespace postern::redis::lua
