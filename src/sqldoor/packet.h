// packet.h: cuts packets of the MySQL protocol: three bytes of length, little endian, a sequence number, and the
// payload. A compressed frame has three more bytes, of the uncompressed length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace postern::sqldoor {

inline constexpr size_t packet_header_bytes = 4;
inline constexpr size_t frame_header_bytes = 7;

/// The largest packet that is received whole before the server gets it; the server itself receives the rest of a larger
/// one.
inline constexpr size_t packet_bytes_whole_max = size_t{64} << 10;

constexpr uint32_t little_endian_24(std::span<const char> bytes) {
  return static_cast<uint8_t>(bytes[0]) | static_cast<uint32_t>(static_cast<uint8_t>(bytes[1])) << 8 |
         static_cast<uint32_t>(static_cast<uint8_t>(bytes[2])) << 16;
}

/// How many of the received bytes belong to one command: those of its packet, or all for a large one. 0: incomplete.
/// `header` is packet_header_bytes or frame_header_bytes.
constexpr size_t bytes_of_command(std::span<const char> received, size_t header) {
  if (received.size() < header) return 0;
  const size_t bytes = header + little_endian_24(received);
  if (bytes > packet_bytes_whole_max) return received.size();
  return bytes <= received.size() ? bytes : 0;
}

}  // namespace postern::sqldoor
