#include "memcached/wire/base64.h"

#include <array>
#include <cstdint>

namespace postern::memcached {
namespace {

constexpr Bytes alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t no_digit = 0xff;

constexpr std::array<uint8_t, 256> digits = [] {
  std::array<uint8_t, 256> table{};
  table.fill(no_digit);
  for (size_t i = 0; i < alphabet.size(); ++i) table[static_cast<unsigned char>(alphabet[i])] = static_cast<uint8_t>(i);
  return table;
}();

uint8_t digit(char byte) {
  return digits[static_cast<unsigned char>(byte)];
}

size_t padding_of(Bytes text) {
  return text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
}

}  // namespace

size_t base64_bytes(Bytes text) {
  if (text.empty() || text.size() % 4 != 0) return 0;
  const size_t padding = padding_of(text);
  for (const char byte : text.substr(0, text.size() - padding)) {
    if (digit(byte) == no_digit) return 0;
  }
  return text.size() / 4 * 3 - padding;
}

char *decode_base64(Bytes text, char *to) {
  const size_t bytes = base64_bytes(text);
  char *const end = to + bytes;
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t six = digit(text[i + j]);
      group = group << 6 | (six == no_digit ? 0u : six);
    }
    for (int shift = 16; shift >= 0 && to != end; shift -= 8) *to++ = static_cast<char>(group >> shift);
  }
  return end;
}

char *encode_base64(Bytes bytes, char *to) {
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) to[j] = alphabet[group >> (18 - 6 * j) & 0x3f];
    if (i + 2 >= bytes.size()) to[3] = '=';
    if (i + 1 >= bytes.size()) to[2] = '=';
    to += 4;
  }
  return to;
}

}  // namespace postern::memcached
