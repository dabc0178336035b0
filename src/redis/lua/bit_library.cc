// bit_library.cc: the table `bit`: operations on 32 bits, as LuaJIT's library of that name has them.
#include <bit>
#include <cstdint>
#include <cstring>

#include "redis/lua/libraries.h"

namespace postern::redis::lua {
namespace {

/// The lowest 32 bits of a number rounded to an integer. Beyond 2^51 they are unspecified, as in the original.
uint32_t bits_at(lua_State *lua, int argument) {
  const double shifted = luaL_checknumber(lua, argument) + 6755399441055744.0;  // 2^52 + 2^51
  uint64_t bits = 0;
  std::memcpy(&bits, &shifted, sizeof bits);
  return static_cast<uint32_t>(bits);
}

int push_bits(lua_State *lua, uint32_t bits) {
  lua_pushnumber(lua, static_cast<int32_t>(bits));
  return 1;
}

int to_bits(lua_State *lua) {
  return push_bits(lua, bits_at(lua, 1));
}

int invert(lua_State *lua) {
  return push_bits(lua, ~bits_at(lua, 1));
}

template <class Join>
int join(lua_State *lua, Join both) {
  uint32_t bits = bits_at(lua, 1);
  for (int i = lua_gettop(lua); i > 1; --i) bits = both(bits, bits_at(lua, i));
  return push_bits(lua, bits);
}

int bits_and(lua_State *lua) {
  return join(lua, [](uint32_t a, uint32_t b) { return a & b; });
}

int bits_or(lua_State *lua) {
  return join(lua, [](uint32_t a, uint32_t b) { return a | b; });
}

int bits_xor(lua_State *lua) {
  return join(lua, [](uint32_t a, uint32_t b) { return a ^ b; });
}

template <class Move>
int move(lua_State *lua, Move by) {
  const uint32_t bits = bits_at(lua, 1);
  return push_bits(lua, by(bits, bits_at(lua, 2) & 31));
}

int shift_left(lua_State *lua) {
  return move(lua, [](uint32_t bits, uint32_t by) { return bits << by; });
}

int shift_right(lua_State *lua) {
  return move(lua, [](uint32_t bits, uint32_t by) { return bits >> by; });
}

int shift_right_signed(lua_State *lua) {
  return move(lua, [](uint32_t bits, uint32_t by) { return static_cast<uint32_t>(static_cast<int32_t>(bits) >> by); });
}

int rotate_left(lua_State *lua) {
  return move(lua, [](uint32_t bits, uint32_t by) { return std::rotl(bits, static_cast<int>(by)); });
}

int rotate_right(lua_State *lua) {
  return move(lua, [](uint32_t bits, uint32_t by) { return std::rotr(bits, static_cast<int>(by)); });
}

int swap_bytes(lua_State *lua) {
  return push_bits(lua, __builtin_bswap32(bits_at(lua, 1)));
}

/// The second argument is how many digits; negative: in capitals.
int to_hexadecimal(lua_State *lua) {
  uint32_t bits = bits_at(lua, 1);
  const int64_t wanted = lua_isnone(lua, 2) ? 8 : static_cast<int32_t>(bits_at(lua, 2));
  const char *const digits = wanted < 0 ? "0123456789ABCDEF" : "0123456789abcdef";
  const int64_t given = wanted < 0 ? -wanted : wanted;
  const size_t count = given > 8 ? 8 : static_cast<size_t>(given);
  char text[8];
  for (size_t i = count; i-- != 0; bits >>= 4) text[i] = digits[bits & 15];
  push(lua, {text, count});
  return 1;
}

}  // namespace

void push_bit_library(lua_State *lua) {
  lua_createtable(lua, 0, 12);
  set_field(lua, "tobit", to_bits);
  set_field(lua, "bnot", invert);
  set_field(lua, "band", bits_and);
  set_field(lua, "bor", bits_or);
  set_field(lua, "bxor", bits_xor);
  set_field(lua, "lshift", shift_left);
  set_field(lua, "rshift", shift_right);
  set_field(lua, "arshift", shift_right_signed);
  set_field(lua, "rol", rotate_left);
  set_field(lua, "ror", rotate_right);
  set_field(lua, "bswap", swap_bytes);
  set_field(lua, "tohex", to_hexadecimal);
}

}  // namespace postern::redis::lua
