// struct_library.cc: the table `struct`: values in C's forms, as the library of that name (0.2) packs them.
#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstdint>
#include <cstring>

#include "redis/lua/interpreter.h"
#include "redis/lua/libraries.h"

namespace postern::redis::lua {
namespace {

constexpr int integer_bytes_max = 32;
constexpr int alignment_default = 8;

/// Reads a format, option by option.
class Format {
 public:
  Format(lua_State *lua, const char *text) : lua_(lua), at_(text) {}

  bool at_end() const { return *at_ == '\0'; }
  /// The next option, with its size; `position`: where the value would stand without alignment.
  void next(size_t position) {
    option_ = *at_++;
    size_ = size_of_option();
    const size_t unit = std::min(size_, static_cast<size_t>(alignment_));
    padding_ = size_ == 0 || option_ == 'c' ? 0 : (unit - (position & (unit - 1))) & (unit - 1);
  }
  char option() const { return option_; }
  size_t size() const { return size_; }
  size_t padding() const { return padding_; }
  bool is_integer() const { return option_ != '\0' && std::strchr("bBhHlLTiI", option_) != nullptr; }
  bool big_endian() const { return big_endian_; }
  /// An option without a value.
  void control() {
    switch (option_) {
      case ' ': return;
      case '>': big_endian_ = true; return;
      case '<': big_endian_ = false; return;
      case '!':
        alignment_ = number(alignment_default);
        if (alignment_ <= 0 || (alignment_ & (alignment_ - 1)) != 0)
          luaL_error(lua_, "alignment %d is not a power of 2", alignment_);
        return;
      default: luaL_argerror(lua_, 1, lua_pushfstring(lua_, "invalid format option '%c'", option_));
    }
  }

 private:
  int number(int otherwise) {
    if (std::isdigit(static_cast<unsigned char>(*at_)) == 0) return otherwise;
    int64_t number = 0;
    for (; std::isdigit(static_cast<unsigned char>(*at_)) != 0; ++at_) {
      number = number * 10 + (*at_ - '0');
      if (number > INT_MAX) luaL_error(lua_, "integral size overflow");
    }
    return static_cast<int>(number);
  }
  size_t size_of_option() {
    switch (option_) {
      case 'B':
      case 'b':
      case 'x': return 1;
      case 'H':
      case 'h': return sizeof(short);
      case 'L':
      case 'l': return sizeof(long);
      case 'T': return sizeof(size_t);
      case 'f': return sizeof(float);
      case 'd': return sizeof(double);
      case 'c': return static_cast<size_t>(number(1));
      case 'i':
      case 'I': {
        const int bytes = number(sizeof(int));
        if (bytes > integer_bytes_max)
          luaL_error(lua_, "integral size %d is larger than limit of %d", bytes, integer_bytes_max);
        return static_cast<size_t>(bytes);
      }
      default: return 0;
    }
  }

  lua_State *const lua_;
  const char *at_;
  char option_ = ' ';
  size_t size_ = 0;
  size_t padding_ = 0;
  int alignment_ = 1;
  bool big_endian_ = false;
};

/// The bits of a number as 64 bits.
uint64_t bits_of(lua_Number number) {
  constexpr lua_Number end = 18446744073709551616.0;
  if (number < 0) return number >= -end / 2 ? static_cast<uint64_t>(static_cast<int64_t>(number)) : uint64_t{1} << 63;
  return number < end ? static_cast<uint64_t>(number) : 0;
}

/// `bytes` is at most integer_bytes_max.
std::array<char, integer_bytes_max> bytes_of(uint64_t bits, size_t bytes, bool big_endian) {
  std::array<char, integer_bytes_max> made{};
  for (size_t i = 0; i < bytes; ++i, bits >>= 8) made[big_endian ? bytes - 1 - i : i] = static_cast<char>(bits & 0xff);
  return made;
}

lua_Number integer_of(Bytes bytes, bool big_endian, bool has_sign) {
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    bits = bits << 8 | static_cast<unsigned char>(bytes[big_endian ? i : bytes.size() - 1 - i]);
  if (!has_sign) return static_cast<lua_Number>(bits);
  const size_t unused = bytes.empty() || bytes.size() >= 8 ? 0 : 64 - 8 * bytes.size();
  return static_cast<lua_Number>(static_cast<int64_t>(bits << unused) >> unused);
}

template <class Float>
Float turned(Float number, bool big_endian) {
  std::array<char, sizeof(Float)> bytes;
  std::memcpy(bytes.data(), &number, sizeof number);
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

class StructPacker {
 public:
  explicit StructPacker(lua_State *lua) : lua_(lua), interpreter_(Interpreter::of(lua)) {
    interpreter_.scratch().clear();
  }

  void put_all() {
    Format format(lua_, luaL_checkstring(lua_, 1));
    lua_pushnil(lua_);  // a missing argument counts as nil in error messages
    while (!format.at_end()) {
      interpreter_.note_work(5);
      format.next(position_);
      for (size_t i = format.padding(); i != 0; --i) put(Bytes("\0", 1));
      position_ += format.padding();
      position_ += put_value(format);
    }
    push(lua_, interpreter_.scratch());
  }

 private:
  void put(Bytes bytes) {
    if (!interpreter_.append_scratch(bytes)) luaL_error(lua_, "not enough memory");
  }
  template <class Float>
  void put_float(Float number, bool big_endian) {
    number = turned(number, big_endian);
    put({reinterpret_cast<const char *>(&number), sizeof number});
  }
  /// Returns its bytes.
  size_t put_value(Format &format) {
    const size_t size = format.size();
    if (format.is_integer()) {
      const auto bytes = bytes_of(bits_of(luaL_checknumber(lua_, argument_++)), size, format.big_endian());
      put({bytes.data(), size});
      return size;
    }
    switch (format.option()) {
      case 'x': put(Bytes("\0", 1)); return size;
      case 'f': put_float(static_cast<float>(luaL_checknumber(lua_, argument_++)), format.big_endian()); return size;
      case 'd': put_float(luaL_checknumber(lua_, argument_++), format.big_endian()); return size;
      case 'c':
      case 's': return put_text(format);
      default: format.control(); return size;
    }
  }
  size_t put_text(const Format &format) {
    size_t given = 0;
    const char *const text = luaL_checklstring(lua_, argument_++, &given);
    const size_t size = format.size() == 0 ? given : format.size();
    luaL_argcheck(lua_, given >= size, argument_, "string too short");
    put({text, size});
    if (format.option() == 'c') return size;
    put(Bytes("\0", 1));
    return size + 1;
  }

  lua_State *const lua_;
  Interpreter &interpreter_;
  int argument_ = 2;
  size_t position_ = 0;
};

int pack_struct(lua_State *lua) {
  StructPacker(lua).put_all();
  return 1;
}

class StructUnpacker {
 public:
  explicit StructUnpacker(lua_State *lua) : lua_(lua) {}

  /// Returns how many values it has pushed.
  int push_all() {
    Format format(lua_, luaL_checkstring(lua_, 1));
    size_t size = 0;
    const char *const data = luaL_checklstring(lua_, 2, &size);
    data_ = {data, size};
    const lua_Integer from = luaL_optinteger(lua_, 3, 1);
    luaL_argcheck(lua_, from != 0, 3, "offset must be 1 or greater");
    position_ = from > 0 ? static_cast<size_t>(from) - 1 : size + 1;
    while (!format.at_end()) {
      Interpreter::of(lua_).note_work(5);
      format.next(position_);
      position_ += format.padding();
      check(format.size());
      luaL_checkstack(lua_, 2, "too many results");
      position_ += push_value(format);
    }
    lua_pushinteger(lua_, static_cast<lua_Integer>(position_ + 1));
    return count_ + 1;
  }

 private:
  void check(size_t size) {
    luaL_argcheck(lua_, size <= data_.size() && position_ <= data_.size() - size, 2, "data string too short");
  }
  void push_number(lua_Number number) {
    lua_pushnumber(lua_, number);
    ++count_;
  }
  template <class Float>
  void push_float(bool big_endian) {
    Float number;
    std::memcpy(&number, data_.data() + position_, sizeof number);
    push_number(turned(number, big_endian));
  }
  /// Returns its bytes.
  size_t push_value(Format &format) {
    const size_t size = format.size();
    if (format.is_integer()) {
      const bool has_sign = std::islower(static_cast<unsigned char>(format.option())) != 0;
      push_number(integer_of(data_.substr(position_, size), format.big_endian(), has_sign));
      return size;
    }
    switch (format.option()) {
      case 'x': return size;
      case 'f': push_float<float>(format.big_endian()); return size;
      case 'd': push_float<double>(format.big_endian()); return size;
      case 'c': return push_text(size == 0 ? take_size() : size);
      case 's': {
        const size_t end = data_.find('\0', position_);
        if (end == Bytes::npos) luaL_error(lua_, "unfinished string in data");
        return push_text(end - position_) + 1;
      }
      default: format.control(); return size;
    }
  }
  /// The previous value is the size of a text.
  size_t take_size() {
    if (count_ == 0 || lua_isnumber(lua_, -1) == 0) luaL_error(lua_, "format 'c0' needs a previous size");
    const lua_Number number = lua_tonumber(lua_, -1);
    lua_pop(lua_, 1);
    --count_;
    const auto size =
        number >= 0 && number <= static_cast<lua_Number>(data_.size()) ? static_cast<size_t>(number) : data_.size() + 1;
    check(size);
    return size;
  }
  size_t push_text(size_t size) {
    push(lua_, data_.substr(position_, size));
    ++count_;
    return size;
  }

  lua_State *const lua_;
  Bytes data_;
  size_t position_ = 0;
  int count_ = 0;
};

int unpack_struct(lua_State *lua) {
  return StructUnpacker(lua).push_all();
}

int packed_size(lua_State *lua) {
  Format format(lua, luaL_checkstring(lua, 1));
  size_t position = 0;
  while (!format.at_end()) {
    format.next(position);
    position += format.padding();
    if (format.option() == 's') luaL_argerror(lua, 1, "option 's' has no fixed size");
    if (format.option() == 'c' && format.size() == 0) luaL_argerror(lua, 1, "option 'c0' has no fixed size");
    if (std::isalnum(static_cast<unsigned char>(format.option())) == 0) format.control();
    position += format.size();
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(position));
  return 1;
}

}  // namespace

void push_struct_library(lua_State *lua) {
  lua_createtable(lua, 0, 3);
  set_field(lua, "pack", pack_struct);
  set_field(lua, "unpack", unpack_struct);
  set_field(lua, "size", packed_size);
}

}  // namespace postern::redis::lua
