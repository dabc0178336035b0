// base64.h: keys in base64, as RFC 4648 has it, with padding.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace postern::memcached {

/// The decoded bytes of `text`; 0 if it is not base64, or empty.
[[nodiscard]] size_t base64_bytes(Bytes text);
/// Decodes a text that base64_bytes() accepts; `to` may be `text` itself. Returns the end.
char *decode_base64(Bytes text, char *to);
constexpr size_t base64_encoded_bytes(size_t bytes) {
  return (bytes + 2) / 3 * 4;
}
/// Writes base64_encoded_bytes() at `to`; returns the end.
char *encode_base64(Bytes bytes, char *to);

}  // namespace postern::memcached
