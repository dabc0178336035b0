// binary_packet.h: the header of packets of the binary dialect, and its numbers.
//
// Numbers are big-endian on the wire.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace postern::memcached::binary {

inline constexpr char request_magic = '\x80';
inline constexpr char response_magic = '\x81';
inline constexpr size_t header_bytes = 24;

enum Opcode : uint8_t {
  get = 0x00,
  set = 0x01,
  add = 0x02,
  replace = 0x03,
  erase = 0x04,
  increment = 0x05,
  decrement = 0x06,
  quit = 0x07,
  flush = 0x08,
  get_quietly = 0x09,
  noop = 0x0a,
  version = 0x0b,
  get_with_key = 0x0c,
  get_with_key_quietly = 0x0d,
  append = 0x0e,
  prepend = 0x0f,
  statistics = 0x10,
  set_quietly = 0x11,
  add_quietly = 0x12,
  replace_quietly = 0x13,
  erase_quietly = 0x14,
  increment_quietly = 0x15,
  decrement_quietly = 0x16,
  quit_quietly = 0x17,
  flush_quietly = 0x18,
  append_quietly = 0x19,
  prepend_quietly = 0x1a,
  verbosity = 0x1b,
  touch = 0x1c,
  get_and_touch = 0x1d,
  get_and_touch_quietly = 0x1e,
  login_mechanisms = 0x20,
  login = 0x21,
  login_step = 0x22,
  get_and_touch_with_key = 0x23,
  get_and_touch_with_key_quietly = 0x24,
};

enum class Status : uint16_t {
  success = 0x00,
  not_found = 0x01,
  exists = 0x02,
  too_large = 0x03,
  invalid_arguments = 0x04,
  not_stored = 0x05,
  not_a_number = 0x06,
  login_failed = 0x20,
  unknown_command = 0x81,
  out_of_memory = 0x82,
  not_supported = 0x83,
  internal_error = 0x84,
  temporary_failure = 0x86,
};

template <class Number>
constexpr Number byte_swapped(Number number) {
  static_assert(std::endian::native == std::endian::little);
  if constexpr (sizeof(Number) == 2) return __builtin_bswap16(number);
  if constexpr (sizeof(Number) == 4) return __builtin_bswap32(number);
  if constexpr (sizeof(Number) == 8) return __builtin_bswap64(number);
}

template <class Number>
Number read_number(const char *from) {
  return byte_swapped(load<Number>(from));
}

/// Returns where the number ends.
template <class Number>
char *write_number(char *to, Number number) {
  const Number swapped = byte_swapped(number);
  std::memcpy(to, &swapped, sizeof swapped);
  return to + sizeof swapped;
}

}  // namespace postern::memcached::binary
