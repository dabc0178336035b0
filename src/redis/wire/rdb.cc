#include "redis/wire/rdb.h"

#include <array>

#include "redis/wire/rdb_bytes.h"

namespace postern::redis::rdb {
namespace {

// The first two bits of a length, or all eight of a wide one.
enum LengthMark : uint8_t { bits_6 = 0, bits_14 = 1, wide = 2, wide_32 = 0x80, wide_64 = 0x81 };
constexpr uint64_t lzf_encoding = 3;

constexpr std::array<uint64_t, 256> make_crc_table() {
  constexpr uint64_t reflected_polynomial = 0x95AC9329AC4BC9B5;
  std::array<uint64_t, 256> table{};
  for (uint64_t i = 0; i < table.size(); ++i) {
    uint64_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ reflected_polynomial : crc >> 1;
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint64_t, 256> crc_table = make_crc_table();

/// LZF: literal pieces, and copies of earlier output.
bool decompress(Bytes from, size_t bytes, std::string &to) {
  to.reserve(bytes);
  while (!from.empty()) {
    const size_t control = as_byte(from[0]);
    from.remove_prefix(1);
    if (control < 32) {
      const size_t size = control + 1;
      if (size > from.size() || to.size() + size > bytes) return false;
      to.append(from.substr(0, size));
      from.remove_prefix(size);
      continue;
    }
    size_t size = control >> 5;
    if (from.size() < (size == 7 ? 2U : 1U)) return false;
    if (size == 7) {
      size += as_byte(from[0]);
      from.remove_prefix(1);
    }
    size += 2;
    const size_t back = ((control & 31) << 8) + as_byte(from[0]) + 1;
    from.remove_prefix(1);
    if (back > to.size() || to.size() + size > bytes) return false;
    for (size_t at = to.size() - back; size-- != 0; ++at) to.push_back(to[at]);
  }
  return to.size() == bytes;
}

}  // namespace

uint64_t crc64(uint64_t crc, Bytes bytes) {
  for (const char byte : bytes) crc = crc_table[(crc ^ as_byte(byte)) & 0xFF] ^ (crc >> 8);
  return crc;
}

void put_length(std::string &to, uint64_t length) {
  const auto put_big = [&to, length](int width) {
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) to += static_cast<char>(length >> shift);
  };
  if (length < (1U << 6)) {
    to += static_cast<char>(length);
  } else if (length < (1U << 14)) {
    to += static_cast<char>((bits_14 << 6) | (length >> 8));
    to += static_cast<char>(length);
  } else if (length <= UINT32_MAX) {
    to += static_cast<char>(wide_32);
    put_big(4);
  } else {
    to += static_cast<char>(wide_64);
    put_big(8);
  }
}

void put_string(std::string &to, Bytes text) {
  put_length(to, text.size());
  to.append(text);
}

void put_footer(std::string &to) {
  to += static_cast<char>(version & 0xFF);
  to += static_cast<char>(version >> 8);
  const uint64_t crc = crc64(0, to);
  for (int shift = 0; shift < 64; shift += 8) to += static_cast<char>(crc >> shift);
}

bool has_valid_footer(Bytes payload) {
  if (payload.size() < footer_bytes) return false;
  const Bytes footer = payload.substr(payload.size() - footer_bytes);
  if (little_endian(footer.substr(0, 2)) > version) return false;
  return crc64(0, payload.substr(0, payload.size() - 8)) == little_endian(footer.substr(2));
}

bool Reader::take(size_t size, Bytes &piece) {
  return take_bytes(bytes_, size, piece);
}

bool Reader::byte(uint8_t &value) {
  Bytes piece;
  if (!take(1, piece)) return false;
  value = as_byte(piece[0]);
  return true;
}

bool Reader::encoded_length(uint64_t &length, bool &encoded) {
  uint8_t first = 0;
  if (!byte(first)) return false;
  Bytes rest;
  encoded = false;
  switch (first >> 6) {
    case bits_6: length = first & 0x3F; return true;
    case bits_14:
      if (!take(1, rest)) return false;
      length = (uint64_t{first & 0x3FU} << 8) | as_byte(rest[0]);
      return true;
    case wide:
      if (first != wide_32 && first != wide_64) return false;
      if (!take(first == wide_32 ? 4 : 8, rest)) return false;
      length = big_endian(rest);
      return true;
    default:
      length = first & 0x3F;
      encoded = true;
      return true;
  }
}

bool Reader::length(uint64_t &length) {
  bool encoded = false;
  return encoded_length(length, encoded) && !encoded;
}

bool Reader::number(uint64_t width, std::string &text) {
  Bytes piece;
  if (!take(width, piece)) return false;
  const uint64_t raw = little_endian(piece);
  switch (width) {
    case 1: text = std::to_string(static_cast<int8_t>(raw)); break;
    case 2: text = std::to_string(static_cast<int16_t>(raw)); break;
    default: text = std::to_string(static_cast<int32_t>(raw)); break;
  }
  return true;
}

bool Reader::compressed(std::string &text, size_t bytes_max) {
  uint64_t size = 0;
  uint64_t bytes = 0;
  Bytes piece;
  if (!length(size) || !length(bytes) || bytes > bytes_max || !take(size, piece)) return false;
  text.clear();
  return decompress(piece, bytes, text);
}

bool Reader::string(std::string &text, size_t bytes_max) {
  uint64_t size = 0;
  bool encoded = false;
  if (!encoded_length(size, encoded)) return false;
  if (encoded) return size == lzf_encoding ? compressed(text, bytes_max) : size < 3 && number(1U << size, text);
  Bytes piece;
  if (!take(size, piece)) return false;
  text = piece;
  return true;
}

}  // namespace postern::redis::rdb
