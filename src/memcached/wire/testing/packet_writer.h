// packet_writer.h: packets of the binary dialect made and read back, for tests and fuzzers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memcached/wire/binary_packet.h"
#include "memcached/wire/request.h"

namespace postern::memcached::test {

template <class Number>
std::string big_endian(Number number) {
  std::string bytes(sizeof number, '\0');
  binary::write_number(bytes.data(), number);
  return bytes;
}

/// A request, with lengths that may be wrong.
struct Packet {
  uint8_t opcode = 0;
  std::string extras{};
  std::string key{};
  std::string value{};
  uint64_t cas = 0;
  uint32_t opaque = 0x01020304;

  std::string bytes() const {
    return bytes(static_cast<uint8_t>(extras.size()), static_cast<uint16_t>(key.size()),
                 static_cast<uint32_t>(extras.size() + key.size() + value.size()));
  }
  std::string bytes(uint8_t extras_bytes, uint16_t key_bytes, uint32_t body_bytes) const {
    return std::string{binary::request_magic, static_cast<char>(opcode)} + big_endian(key_bytes) +
           std::string{static_cast<char>(extras_bytes), '\0', '\0', '\0'} + big_endian(body_bytes) +
           big_endian(opaque) + big_endian(cas) + extras + key + value;
  }
};

/// A response.
struct Answer {
  uint8_t opcode = 0;
  uint16_t status = 0;
  uint32_t opaque = 0;
  uint64_t cas = 0;
  std::string extras{};
  std::string key{};
  std::string value{};
};

/// Takes one off the front; false if there is no whole and sound one.
inline bool read_answer(std::string_view &bytes, Answer &answer) {
  if (bytes.size() < binary::header_bytes || bytes[0] != binary::response_magic || bytes[5] != 0) return false;
  const size_t extras_bytes = static_cast<uint8_t>(bytes[4]);
  const size_t key_bytes = binary::read_number<uint16_t>(bytes.data() + 2);
  const size_t body_bytes = binary::read_number<uint32_t>(bytes.data() + 8);
  if (bytes.size() - binary::header_bytes < body_bytes || extras_bytes + key_bytes > body_bytes) return false;
  const std::string_view body = bytes.substr(binary::header_bytes, body_bytes);
  answer = {.opcode = static_cast<uint8_t>(bytes[1]),
            .status = binary::read_number<uint16_t>(bytes.data() + 6),
            .opaque = binary::read_number<uint32_t>(bytes.data() + 12),
            .cas = binary::read_number<uint64_t>(bytes.data() + 16),
            .extras = std::string(body.substr(0, extras_bytes)),
            .key = std::string(body.substr(extras_bytes, key_bytes)),
            .value = std::string(body.substr(extras_bytes + key_bytes))};
  bytes.remove_prefix(binary::header_bytes + body_bytes);
  return true;
}

}  // namespace postern::memcached::test
