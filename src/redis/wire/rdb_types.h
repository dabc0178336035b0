// rdb_types.h: the first byte of a value in Redis's format. Part of rdb_write.cc and rdb_read.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace postern::redis::rdb {

enum class RdbType : uint8_t {
  string = 0,
  list = 1,
  set = 2,
  sorted_set = 3,  ///< scores are texts
  hash = 4,
  sorted_set_2 = 5,
  hash_zipmap = 9,
  list_ziplist = 10,
  set_intset = 11,
  sorted_set_ziplist = 12,
  hash_ziplist = 13,
  list_quicklist = 14,  ///< of ziplists
  stream_listpacks = 15,
  hash_listpack = 16,
  sorted_set_listpack = 17,
  list_quicklist_2 = 18,  ///< of listpacks, and of plain elements
  stream_listpacks_2 = 19,
};

inline constexpr size_t raw_id_bytes = 16;

/// Bits of an entry in a node of a stream.
inline constexpr int entry_deleted = 1;
inline constexpr int entry_same_fields = 2;

}  // namespace postern::redis::rdb
