// packet.h: how the bytes of the MySQL protocol are cut: a packet is three bytes of length, the lowest first, one of
// its place in the conversation, and so many bytes. Where a client compresses, a frame has three more, of the length
// before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace postern::sqldoor {

inline constexpr size_t packet_header_bytes = 4;
inline constexpr size_t frame_header_bytes = 7;

/// Bytes of the largest packet that is received as a whole before the server gets it; the server itself receives the
/// rest of a larger one.
inline constexpr size_t packet_bytes_whole_max = size_t{64} << 10;

constexpr uint32_t little_endian_24(std::span<const char> bytes) {
  return static_cast<uint8_t>(bytes[0]) | static_cast<uint32_t>(static_cast<uint8_t>(bytes[1])) << 8 |
         static_cast<uint32_t>(static_cast<uint8_t>(bytes[2])) << 16;
}

/// How many of the bytes received are for one command: those of its packet, or all if it is a large one. 0: it is not
/// complete. `header` is packet_header_bytes or frame_header_bytes.
constexpr size_t bytes_of_command(std::span<const char> received, size_t header) {
  if (received.size() < header) return 0;
  const size_t bytes = header + little_endian_24(received);
  if (bytes > packet_bytes_whole_max) return received.size();
  return bytes <= received.size() ? bytes : 0;
}

}  // namespace postern::sqldoor
