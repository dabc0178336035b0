#include "engine/server/server.h"

#include "engine/rows/charsets.h"

#include <cstdint>
#include <new>

namespace postern::rows {
namespace {

/// Bytes that a character has at most, in any character set.
constexpr size_t character_bytes_max = 4;

}  // namespace

bool from_unicode(const CHARSET_INFO *charset, Bytes text, std::string &room) {
  room.resize(text.size() * character_bytes_max);
  uint errors = 0;
  const auto size = my_convert(room.data(), static_cast<uint32_t>(room.size()), charset, text.data(),
                               static_cast<uint32_t>(text.size()), &my_charset_utf8mb4_bin, &errors);
  room.resize(size);
  return errors == 0;
}

Bytes to_unicode(const CHARSET_INFO *charset, Bytes text, String &room) {
  uint errors = 0;
  if (room.copy(text.data(), text.size(), charset, &my_charset_utf8mb4_bin, &errors)) throw std::bad_alloc();
  return {room.ptr(), room.length()};
}

}  // namespace postern::rows
