#include "redis/lua/sha1.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace postern::redis::lua {
namespace {

constexpr size_t block_bytes = 64;
using State = std::array<uint32_t, 5>;

void mix(State &state, const char *block) {
  std::array<uint32_t, 80> words;
  for (size_t i = 0; i < 16; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, block + 4 * i, 4);
    words[i] = __builtin_bswap32(word);
  }
  for (size_t i = 16; i < 80; ++i) words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (size_t i = 0; i < 80; ++i) {
    uint32_t mixed = 0;
    if (i < 20) mixed = ((b & c) | (~b & d)) + 0x5A827999;
    else if (i < 40) mixed = (b ^ c ^ d) + 0x6ED9EBA1;
    else if (i < 60) mixed = ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC;
    else mixed = (b ^ c ^ d) + 0xCA62C1D6;
    const uint32_t next = std::rotl(a, 5) + mixed + e + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
}

}  // namespace

std::array<char, sha1_digits> sha1_of(Bytes text) {
  State state{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (; text.size() >= block_bytes; text.remove_prefix(block_bytes)) mix(state, text.data());
  // The rest, the end bit, and the number of bits at the end of the last block.
  std::array<char, 2 * block_bytes> rest{};
  std::copy(text.begin(), text.end(), rest.begin());
  rest[text.size()] = static_cast<char>(0x80);
  const size_t bytes = text.size() < block_bytes - 8 ? block_bytes : 2 * block_bytes;
  for (size_t i = 0; i < 8; ++i) rest[bytes - 1 - i] = static_cast<char>(bits >> (8 * i));
  for (size_t at = 0; at < bytes; at += block_bytes) mix(state, rest.data() + at);
  std::array<char, sha1_digits> digits;
  for (size_t i = 0; i < sha1_digits; ++i) digits[i] = "0123456789abcdef"[(state[i / 8] >> (28 - 4 * (i % 8))) & 15];
  return digits;
}

}  // namespace postern::redis::lua
