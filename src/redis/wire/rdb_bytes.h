// rdb_bytes.h: numbers in Redis's binary formats, for rdb.cc and the readers and writers of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace postern::redis::rdb {

inline uint8_t as_byte(char byte) {
  return static_cast<uint8_t>(byte);
}

inline uint64_t little_endian(Bytes bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- != 0;) number = (number << 8) | as_byte(bytes[i]);
  return number;
}

inline uint64_t big_endian(Bytes bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = (number << 8) | as_byte(byte);
  return number;
}

/// The same with a sign; at most eight bytes.
inline int64_t signed_little_endian(Bytes bytes) {
  const auto unused = static_cast<unsigned>(64 - 8 * bytes.size());
  return static_cast<int64_t>(little_endian(bytes) << unused) >> unused;
}

inline void put_little_endian(std::string &to, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to += static_cast<char>(number >> 8 * i);
}

inline void put_big_endian(std::string &to, uint64_t number, size_t bytes) {
  for (size_t i = bytes; i-- != 0;) to += static_cast<char>(number >> 8 * i);
}

/// Takes so many bytes from the front. False: there are fewer.
[[nodiscard]] inline bool take_bytes(Bytes &from, size_t size, Bytes &piece) {
  if (size > from.size()) return false;
  piece = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

}  // namespace postern::redis::rdb
