#include "counts_memcached.h"

#include <string>

#include "base/clock.h"
#include "counting.h"
#include "counting_turns.h"
#include "memcached/wire/form.h"
#include "memcached/protocol.h"
#include "memcached/wire/text_framer.h"
#include "memcached_requests.h"

namespace postern::bench {
namespace {

using namespace memcached;

bool count_parser(const char *path, std::string bytes, ItemAction action, size_t requests) {
  const Bounds bounds{.value_bytes_max = 1'000, .line_bytes_max = 2'048};
  TextFramer parser;
  bool right = true;
  count(path, 1, [&] {
    size_t taken = 0;
    for (size_t i = 0; i < requests; ++i) {
      Request request;
      size_t consumed = 0;
      right = right && parser.take(std::span(bytes).subspan(taken), bounds, consumed, request) == Parsed::request;
      right = right && request.asks(action);
      taken += consumed;
    }
    right = right && taken == bytes.size();
  });
  return right;
}

bool count_encoder(const char *path) {
  Request request;
  request.ask(ItemAction::get);
  request.ends = true;
  request.key = "user:4711";
  const Item item{.value = "yukari.takeba@dena.jp", .flags = 16};
  Output output;
  bool right = true;
  count(path, 1, [&] {
    form_of(Dialect::text).item(output, request, item);
    output.release();
    right = right && output.sendable() == "VALUE user:4711 16 21\r\nyukari.takeba@dena.jp\r\nEND\r\n";
    output.sent(output.sendable().size());
  });
  return right;
}

/// `count`: the number of ops in the requests.
bool count_turn(const char *path, const std::string &requests, size_t ops) {
  Memcached protocol(Settings{});
  map_users(protocol);
  return count_turns(
      path, protocol,
      {.access = Access::write, .opening = requests, .requests = requests, .count = ops, .row = user_row()});
}

}  // namespace

bool count_memcached() {
  return count_parser("memcached-parse-get", text_get(1), ItemAction::get, 1) &&
         count_parser("memcached-parse-get-50", text_get(50), ItemAction::get, 50) &&
         count_parser("memcached-parse-set", text_set, ItemAction::set, 1) && count_encoder("memcached-encode-item") &&
         count_turn("memcached-turn-get", text_get(1), 1) &&
         count_turn("memcached-turn-get-x16", repeated(text_get(1), 16), 16) &&
         count_turn("memcached-turn-get-50", text_get(50), 50) &&
         count_turn("memcached-turn-binary-x16", repeated(binary_get(), 16), 16) &&
         count_turn("memcached-turn-set-x16", repeated(text_set, 16), 16);
}

}  // namespace postern::bench
