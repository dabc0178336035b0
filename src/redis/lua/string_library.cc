// string_library.cc: functions of `string` that could exceed bounds on time or stack: patterns, and repetition.
//
// A pattern may try so many matches that it takes years. Here each try counts as work of the script.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>

#include "redis/lua/interpreter.h"
#include "redis/lua/libraries.h"

namespace postern::redis::lua {
namespace {

constexpr int captures_max = LUA_MAXCAPTURES;
/// Calls of match() within another.
constexpr int matches_nested_max = 5'000;

bool is_in_class(int byte, int letter) {
  bool found = false;
  switch (std::tolower(letter)) {
    case 'a': found = std::isalpha(byte) != 0; break;
    case 'c': found = std::iscntrl(byte) != 0; break;
    case 'd': found = std::isdigit(byte) != 0; break;
    case 'l': found = std::islower(byte) != 0; break;
    case 'p': found = std::ispunct(byte) != 0; break;
    case 's': found = std::isspace(byte) != 0; break;
    case 'u': found = std::isupper(byte) != 0; break;
    case 'w': found = std::isalnum(byte) != 0; break;
    case 'x': found = std::isxdigit(byte) != 0; break;
    case 'z': found = byte == 0; break;
    default: return letter == byte;
  }
  return std::isupper(letter) != 0 ? !found : found;
}

int byte_at(const char *at) {
  return static_cast<unsigned char>(*at);
}

/// Matches patterns of Lua 5.1 against a text. A byte NUL ends a pattern.
class Matcher {
 public:
  Matcher(lua_State *lua, Bytes text) : lua_(lua), interpreter_(Interpreter::of(lua)), begin_(text.data()) {
    end_ = begin_ + text.size();
  }

  /// Where the match ends; nullptr: there is none.
  const char *match_at(const char *text, const char *pattern) {
    level_ = 0;
    nesting_ = 0;
    return match(text, pattern);
  }
  const char *end() const { return end_; }
  int level() const { return level_; }

  /// Pushes a capture; the first one of a pattern without any is the whole match.
  void push_capture(int number, const char *from, const char *to) {
    if (number >= level_) {
      if (number != 0) luaL_error(lua_, "invalid capture index");
      return lua_pushlstring(lua_, from, static_cast<size_t>(to - from));
    }
    const Capture &capture = captures_[static_cast<size_t>(number)];
    if (capture.size == unfinished) luaL_error(lua_, "unfinished capture");
    if (capture.size == position) lua_pushinteger(lua_, capture.begin - begin_ + 1);
    else lua_pushlstring(lua_, capture.begin, static_cast<size_t>(capture.size));
  }
  /// Pushes all captures, or the whole match if the pattern has none and `from` is given. Returns how many.
  int push_captures(const char *from, const char *to) {
    const int count = level_ == 0 && from != nullptr ? 1 : level_;
    luaL_checkstack(lua_, count, "too many captures");
    for (int i = 0; i < count; ++i) push_capture(i, from, to);
    return count;
  }

 private:
  static constexpr ptrdiff_t unfinished = -1;
  static constexpr ptrdiff_t position = -2;
  struct Capture {
    const char *begin;
    ptrdiff_t size;
  };

  void note_try() {
    if (++tries_ % 256 == 0) interpreter_.note_work(256);
  }

  const char *match(const char *text, const char *pattern) {
    if (++nesting_ > matches_nested_max) luaL_error(lua_, "pattern too complex");
    const char *const found = match_here(text, pattern);
    --nesting_;
    return found;
  }

  const char *match_here(const char *text, const char *pattern) {
    for (;;) {
      note_try();
      switch (*pattern) {
        case '\0': return text;
        case '(': return begin_capture(text, pattern);
        case ')': return end_capture(text, pattern + 1);
        case '$':
          if (pattern[1] == '\0') return text == end_ ? text : nullptr;
          break;
        case '%':
          if (pattern[1] == 'b') {
            text = match_balance(text, pattern + 2);
            if (text == nullptr) return nullptr;
            pattern += 4;
            continue;
          }
          if (pattern[1] == 'f') {
            pattern = match_frontier(text, pattern + 2);
            if (pattern == nullptr) return nullptr;
            continue;
          }
          if (std::isdigit(byte_at(pattern + 1)) != 0) {
            text = match_capture(text, byte_at(pattern + 1));
            if (text == nullptr) return nullptr;
            pattern += 2;
            continue;
          }
          break;
        default: break;
      }
      const char *const behind = end_of_class(pattern);
      const bool fits = text < end_ && matches_one(byte_at(text), pattern, behind);
      switch (*behind) {
        case '?':
          if (fits)
            if (const char *const found = match(text + 1, behind + 1)) return found;
          pattern = behind + 1;
          continue;
        case '*': return match_most(text, pattern, behind);
        case '+': return fits ? match_most(text + 1, pattern, behind) : nullptr;
        case '-': return match_least(text, pattern, behind);
        default: break;
      }
      if (!fits) return nullptr;
      ++text;
      pattern = behind;
    }
  }

  const char *end_of_class(const char *pattern) {
    const char first = *pattern++;
    if (first == '%') {
      if (*pattern == '\0') luaL_error(lua_, "malformed pattern (ends with '%%')");
      return pattern + 1;
    }
    if (first != '[') return pattern;
    if (*pattern == '^') ++pattern;
    do {
      if (*pattern == '\0') luaL_error(lua_, "malformed pattern (missing ']')");
      if (*pattern++ == '%' && *pattern != '\0') ++pattern;
    } while (*pattern != ']');
    return pattern + 1;
  }

  static bool matches_one(int byte, const char *pattern, const char *behind) {
    switch (*pattern) {
      case '.': return true;
      case '%': return is_in_class(byte, byte_at(pattern + 1));
      case '[': return is_in_set(byte, pattern, behind - 1);
      default: return byte_at(pattern) == byte;
    }
  }
  /// `last`: the bracket that closes it.
  static bool is_in_set(int byte, const char *pattern, const char *last) {
    const bool wanted = pattern[1] != '^';
    if (!wanted) ++pattern;
    while (++pattern < last) {
      if (*pattern == '%') {
        ++pattern;
        if (is_in_class(byte, byte_at(pattern))) return wanted;
      } else if (pattern[1] == '-' && pattern + 2 < last) {
        pattern += 2;
        if (byte_at(pattern - 2) <= byte && byte <= byte_at(pattern)) return wanted;
      } else if (byte_at(pattern) == byte) {
        return wanted;
      }
    }
    return !wanted;
  }

  const char *match_most(const char *text, const char *pattern, const char *behind) {
    ptrdiff_t count = 0;
    while (text + count < end_ && matches_one(byte_at(text + count), pattern, behind)) ++count;
    interpreter_.note_work(static_cast<uint64_t>(count) / 4);
    for (; count >= 0; --count)
      if (const char *const found = match(text + count, behind + 1)) return found;
    return nullptr;
  }
  const char *match_least(const char *text, const char *pattern, const char *behind) {
    for (;; ++text) {
      if (const char *const found = match(text, behind + 1)) return found;
      if (text >= end_ || !matches_one(byte_at(text), pattern, behind)) return nullptr;
    }
  }

  const char *begin_capture(const char *text, const char *pattern) {
    if (level_ >= captures_max) luaL_error(lua_, "too many captures");
    const bool is_position = pattern[1] == ')';
    captures_[static_cast<size_t>(level_++)] = {text, is_position ? position : unfinished};
    const char *const found = match(text, pattern + (is_position ? 2 : 1));
    if (found == nullptr) --level_;
    return found;
  }
  const char *end_capture(const char *text, const char *pattern) {
    int open = level_ - 1;
    while (open >= 0 && captures_[static_cast<size_t>(open)].size != unfinished) --open;
    if (open < 0) luaL_error(lua_, "invalid pattern capture");
    Capture &capture = captures_[static_cast<size_t>(open)];
    capture.size = text - capture.begin;
    const char *const found = match(text, pattern);
    if (found == nullptr) capture.size = unfinished;
    return found;
  }
  const char *match_capture(const char *text, int digit) {
    const int number = digit - '1';
    if (number < 0 || number >= level_ || captures_[static_cast<size_t>(number)].size == unfinished)
      luaL_error(lua_, "invalid capture index");
    const Capture &capture = captures_[static_cast<size_t>(number)];
    // A position capture has size -1, which Lua compares as more than the bytes left.
    const auto size = static_cast<size_t>(capture.size);
    if (size > static_cast<size_t>(end_ - text) || std::memcmp(capture.begin, text, size) != 0) return nullptr;
    return text + size;
  }
  const char *match_balance(const char *text, const char *pair) {
    if (pair[0] == '\0' || pair[1] == '\0') luaL_error(lua_, "unbalanced pattern");
    if (text >= end_ || *text != pair[0]) return nullptr;
    int64_t open = 1;
    while (++text < end_) {
      if (*text == pair[1]) {
        if (--open == 0) return text + 1;
      } else if (*text == pair[0]) {
        ++open;
      }
    }
    return nullptr;
  }
  /// Returns the pattern after it.
  const char *match_frontier(const char *text, const char *pattern) {
    if (*pattern != '[') luaL_error(lua_, "missing '[' after '%%f' in pattern");
    const char *const behind = end_of_class(pattern);
    const int before = text == begin_ ? 0 : byte_at(text - 1);
    return !is_in_set(before, pattern, behind - 1) && is_in_set(byte_at(text), pattern, behind - 1) ? behind : nullptr;
  }

  lua_State *const lua_;
  Interpreter &interpreter_;
  const char *const begin_;
  const char *end_;
  int level_ = 0;
  int nesting_ = 0;
  uint64_t tries_ = 0;
  std::array<Capture, captures_max> captures_;
};

int find_or_match(lua_State *lua, bool find) {
  size_t text_size = 0;
  size_t pattern_size = 0;
  const char *const text = luaL_checklstring(lua, 1, &text_size);
  const char *pattern = luaL_checklstring(lua, 2, &pattern_size);
  const auto size = static_cast<ptrdiff_t>(text_size);
  ptrdiff_t from = luaL_optinteger(lua, 3, 1);
  if (from < 0) from += size + 1;
  from = std::clamp<ptrdiff_t>(from - 1, 0, size);
  if (find && (lua_toboolean(lua, 4) != 0 || std::strpbrk(pattern, "^$*+?.([%-") == nullptr)) {
    const size_t at = Bytes(text, text_size).find(Bytes(pattern, pattern_size), static_cast<size_t>(from));
    Interpreter::of(lua).note_work(text_size / 16);
    if (at == Bytes::npos) return lua_pushnil(lua), 1;
    lua_pushinteger(lua, static_cast<lua_Integer>(at + 1));
    lua_pushinteger(lua, static_cast<lua_Integer>(at + pattern_size));
    return 2;
  }
  Matcher matcher(lua, {text, text_size});
  const bool anchored = *pattern == '^';
  if (anchored) ++pattern;
  for (const char *at = text + from; at <= matcher.end(); ++at) {
    if (const char *const end = matcher.match_at(at, pattern)) {
      if (!find) return matcher.push_captures(at, end);
      lua_pushinteger(lua, at - text + 1);
      lua_pushinteger(lua, end - text);
      return matcher.push_captures(nullptr, nullptr) + 2;
    }
    if (anchored) break;
  }
  lua_pushnil(lua);
  return 1;
}

int find(lua_State *lua) {
  return find_or_match(lua, true);
}

int match(lua_State *lua) {
  return find_or_match(lua, false);
}

/// Upvalues: the text, the pattern, where to go on.
int next_match(lua_State *lua) {
  const Bytes text = text_at(lua, lua_upvalueindex(1));
  const char *const pattern = lua_tostring(lua, lua_upvalueindex(2));
  Matcher matcher(lua, text);
  for (const char *at = text.data() + lua_tointeger(lua, lua_upvalueindex(3)); at <= matcher.end(); ++at) {
    const char *const end = matcher.match_at(at, pattern);
    if (end == nullptr) continue;
    lua_pushinteger(lua, end - text.data() + (end == at ? 1 : 0));
    lua_replace(lua, lua_upvalueindex(3));
    return matcher.push_captures(at, end);
  }
  return 0;
}

int match_all(lua_State *lua) {
  luaL_checkstring(lua, 1);
  luaL_checkstring(lua, 2);
  lua_settop(lua, 2);
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, next_match, 3);
  return 1;
}

/// Adds the text of the replacement, with captures in place of %1 to %9.
void add_text(lua_State *lua, Matcher &matcher, luaL_Buffer &to, const char *from, const char *end) {
  const Bytes text = text_at(lua, 3);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      luaL_addchar(&to, text[i]);
      continue;
    }
    ++i;
    const char which = i < text.size() ? text[i] : '\0';
    if (std::isdigit(static_cast<unsigned char>(which)) == 0) {
      luaL_addchar(&to, which);
    } else if (which == '0') {
      luaL_addlstring(&to, from, static_cast<size_t>(end - from));
    } else {
      matcher.push_capture(which - '1', from, end);
      luaL_addvalue(&to);
    }
  }
}

void add_replacement(lua_State *lua, Matcher &matcher, luaL_Buffer &to, const char *from, const char *end) {
  switch (lua_type(lua, 3)) {
    case LUA_TFUNCTION:
      lua_pushvalue(lua, 3);
      lua_call(lua, matcher.push_captures(from, end), 1);
      break;
    case LUA_TTABLE:
      matcher.push_capture(0, from, end);
      lua_gettable(lua, 3);
      break;
    default: return add_text(lua, matcher, to, from, end);
  }
  if (lua_toboolean(lua, -1) == 0) {
    lua_pop(lua, 1);
    lua_pushlstring(lua, from, static_cast<size_t>(end - from));
  } else if (lua_isstring(lua, -1) == 0) {
    luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
  }
  luaL_addvalue(&to);
}

int replace_all(lua_State *lua) {
  size_t size = 0;
  const char *const text = luaL_checklstring(lua, 1, &size);
  const char *pattern = luaL_checkstring(lua, 2);
  const int type = lua_type(lua, 3);
  const lua_Integer most = luaL_optinteger(lua, 4, static_cast<lua_Integer>(size) + 1);
  luaL_argcheck(lua, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
                "string/function/table expected");
  const bool anchored = *pattern == '^';
  if (anchored) ++pattern;
  if (type == LUA_TNUMBER) lua_tostring(lua, 3);
  Matcher matcher(lua, {text, size});
  luaL_Buffer buffer;
  luaL_buffinit(lua, &buffer);
  const char *at = text;
  lua_Integer count = 0;
  while (count < most) {
    const char *const end = matcher.match_at(at, pattern);
    if (end != nullptr) {
      ++count;
      add_replacement(lua, matcher, buffer, at, end);
    }
    if (end != nullptr && end > at) at = end;
    else if (at < matcher.end()) luaL_addchar(&buffer, *at++);
    else break;
    if (anchored) break;
  }
  luaL_addlstring(&buffer, at, static_cast<size_t>(matcher.end() - at));
  luaL_pushresult(&buffer);
  lua_pushinteger(lua, count);
  return 2;
}

int repeat(lua_State *lua) {
  size_t size = 0;
  const char *const text = luaL_checklstring(lua, 1, &size);
  int64_t count = luaL_checkint(lua, 2);
  // Repetitions of the empty text.
  if (size == 0) count = 0;
  luaL_Buffer buffer;
  luaL_buffinit(lua, &buffer);
  for (; count > 0; --count) luaL_addlstring(&buffer, text, size);
  luaL_pushresult(&buffer);
  return 1;
}

}  // namespace

void replace_string_functions(lua_State *lua) {
  set_field(lua, "find", find);
  set_field(lua, "match", match);
  set_field(lua, "gmatch", match_all);
  set_field(lua, "gfind", match_all);
  set_field(lua, "gsub", replace_all);
  set_field(lua, "rep", repeat);
}

}  // namespace postern::redis::lua
