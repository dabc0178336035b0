// memcached_requests.h: a container of users and requests for them, for measurements of a memcached port's turns.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "contract/value.h"
#include "memcached/wire/testing/packet_writer.h"
#include "memcached/protocol.h"

namespace postern::bench {

/// Publishes the containers, so that the port does not read them.
inline void map_users(memcached::Memcached &protocol) {
  protocol.mappings().publish({.rows = {{.name = "users",
                                         .database = "test",
                                         .table = "user",
                                         .key_columns = "id",
                                         .value_columns = "value",
                                         .flags_column = "flags",
                                         .cas_column = "cas",
                                         .expiry_column = "expire_time",
                                         .index = "PRIMARY"}}},
                              clock_ms());
  (void)protocol.mappings().claim_refresh(clock_ms());
}

inline std::vector<Value> user_row() {
  return {Value::of("user:4711"), Value::of("yukari.takeba@dena.jp"), Value::of_integer(16),
          Value::of_natural(1'700'000'000'000'000), Value::of_integer(0)};
}

inline const std::string text_set = "set user:4711 16 0 21\r\nyukari.takeba@dena.jp\r\n";

inline std::string text_get(int keys) {
  std::string line = "get";
  for (int i = 0; i < keys; ++i) line += " user:" + std::to_string(4711 + i);
  return line + "\r\n";
}

inline std::string binary_get() {
  return memcached::test::Packet{.opcode = memcached::binary::get, .key = "user:4711"}.bytes();
}

inline std::string repeated(const std::string &request, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += request;
  return all;
}

}  // namespace postern::bench
