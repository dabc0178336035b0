#include "counts_redis.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "counting.h"
#include "counting_turns.h"
#include "redis/protocol.h"
#include "redis/wire/request_parser.h"

namespace postern::bench {
namespace {

using namespace redis;

const std::string get = "*2\r\n$3\r\nGET\r\n$9\r\nuser:4711\r\n";
const std::string set = "*3\r\n$3\r\nSET\r\n$9\r\nuser:4711\r\n$21\r\nyukari.takeba@dena.jp\r\n";

std::string repeated(const std::string &request, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += request;
  return all;
}

/// Publishes the mapping, a keyspace for every key, so that the door does not read it.
void map_everything(Redis &protocol) {
  items::MappingTable read;
  read.rows = {
      {"", "0", "generic", "postern_redis", "entries", "k", "v", "PRIMARY", ":", "expires", "ms", "version", ""}};
  protocol.maps().take({&read, 1}, clock_ms());
  (void)protocol.maps().claim_refresh(clock_ms());
}

/// The columns of a string read: key, expiry, type, value.
std::vector<Value> string_row() {
  return {Value::of("user:4711"), Value::of_integer(0), Value::of_natural(1), Value::of("yukari.takeba@dena.jp")};
}

bool count_parser(const char *path, const std::string &request, size_t arguments) {
  RequestParser parser;
  Arena arena;
  bool right = true;
  count(path, 1, [&] {
    right = right && parser.take(request, {}, arena) == Parsed::request;
    right = right && parser.arguments().size() == arguments && parser.consumed() == request.size();
    arena.clear();
  });
  return right;
}

bool count_turn(const char *path, const std::string &request, size_t connections, size_t requests) {
  Redis protocol(Settings{});
  // On a busy machine, under valgrind, commands are slow enough for the slow log.
  protocol.slow_log().threshold_us = INT64_MAX;
  map_everything(protocol);
  return count_turns(path, protocol,
                     {.access = Access::write,
                      .connections = connections,
                      .opening = request,
                      .requests = repeated(request, requests),
                      .count = requests,
                      .row = string_row()});
}

}  // namespace

bool count_redis() {
  return count_parser("redis-parse-get", get, 2) && count_turn("redis-turn-get", get, 1, 1) &&
         count_turn("redis-turn-get-x16", get, 1, 16) && count_turn("redis-turn-get-50-clients", get, 50, 1) &&
         count_turn("redis-turn-set-x16", set, 1, 16);
}

}  // namespace postern::bench
