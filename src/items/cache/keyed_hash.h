// keyed_hash.h: keyed_hash(), for tables with keys that clients choose.
#pragma once

#include <bit>
#include <cstdint>

#include "base/bytes.h"

namespace postern::items {

/// SipHash-1-3 of `bytes`: without its key collisions cannot be found.
inline uint64_t keyed_hash(uint64_t key_first, uint64_t key_second, Bytes bytes) {
  uint64_t a = key_first ^ 0x736f6d6570736575;
  uint64_t b = key_second ^ 0x646f72616e646f6d;
  uint64_t c = key_first ^ 0x6c7967656e657261;
  uint64_t d = key_second ^ 0x7465646279746573;
  const auto round = [&] {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  };
  const auto take = [&](uint64_t word) {
    d ^= word;
    round();
    a ^= word;
  };
  uint64_t last = uint64_t{bytes.size()} << 56;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) take(load<uint64_t>(bytes.data()));
  for (size_t i = 0; i < bytes.size(); ++i) last |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  take(last);
  c ^= 0xff;
  round(), round(), round();
  return a ^ b ^ c ^ d;
}

}  // namespace postern::items
