// rdb.h: pieces of Redis's format for values on disk (RDB version 10), which DUMP, RESTORE and FUNCTION DUMP use.
//
// Total: any bytes. The writer never compresses; the reader takes compressed strings.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace postern::redis::rdb {

inline constexpr uint8_t function_opcode = 245;
inline constexpr uint16_t version = 10;
/// The version and the checksum at the end of a payload.
inline constexpr size_t footer_bytes = 10;

/// Redis's CRC-64 (Jones), continued from `crc`.
uint64_t crc64(uint64_t crc, Bytes bytes);

void put_length(std::string &to, uint64_t length);
void put_string(std::string &to, Bytes text);
void put_footer(std::string &to);
/// Whether a payload ends with a known version and the right checksum.
[[nodiscard]] bool has_valid_footer(Bytes payload);

/// Takes pieces from the front of some bytes.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  /// Each returns false if the bytes are malformed; nothing more can be read then.
  [[nodiscard]] bool byte(uint8_t &value);
  [[nodiscard]] bool length(uint64_t &length);
  /// `bytes_max` bounds a string that is compressed.
  [[nodiscard]] bool string(std::string &text, size_t bytes_max);
  /// Takes bytes as they are; they live as long as the input.
  [[nodiscard]] bool take(size_t size, Bytes &piece);

 private:
  [[nodiscard]] bool encoded_length(uint64_t &length, bool &encoded);
  [[nodiscard]] bool number(uint64_t width, std::string &text);
  [[nodiscard]] bool compressed(std::string &text, size_t bytes_max);

  Bytes bytes_;
};

}  // namespace postern::redis::rdb
