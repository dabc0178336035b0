#include <cstdint>

#include "redis/registry/handlers.h"
#include "redis/wire/numbers.h"
#include "redis/work/key_ops.h"

namespace postern::redis {
namespace {

/// The encoding that Redis would use for a string of so many bytes.
Bytes encoding_of(const KeyState &state) {
  constexpr size_t embedded_bytes_max = 44;
  char room[20];
  switch (state.type) {
    case Type::string: {
      const Bytes text = text_of(state.value, room);
      int64_t number = 0;
      if (parse_integer(text, number)) return "int";
      return text.size() <= embedded_bytes_max ? "embstr" : "raw";
    }
    case Type::list: return "quicklist";
    case Type::zset: return "skiplist";
    case Type::stream: return "stream";
    case Type::none:
    case Type::set:
    case Type::hash: break;
  }
  return "hashtable";
}

/// A row's size on the server besides its values: its head, its numbers, its place in a page.
constexpr int64_t row_overhead_bytes = 64;

}  // namespace

namespace lower {

Next memory_usage(Call &call) {
  int64_t samples = 0;
  const auto options = call.arguments.subspan(3);
  if (!options.empty()) {
    if (options.size() != 2 || !is_word(options[0], "samples")) return refuse(call, syntax_error);
    if (!parse_integer(options[1], samples)) return refuse(call, not_an_integer);
    if (samples < 0) return refuse(call, syntax_error);
  }
  return read_key(call, call.arguments[2], [](Writer &writer, const KeyState *state, Row row) {
    if (state == nullptr) return writer.nil();
    // Elements are rows of their own, of which the key's row knows the number.
    int64_t bytes = row_overhead_bytes * (1 + static_cast<int64_t>(state->len));
    char room[20];
    for (const Value &value : row) bytes += static_cast<int64_t>(text_of(value, room).size());
    writer.integer(bytes);
  });
}

Next object_encoding(Call &call) {
  return read_key(call, call.arguments[2], [](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return writer.nil();
    writer.bulk(encoding_of(*state));
  });
}

Next object_refcount(Call &call) {
  return read_key(call, call.arguments[2], [](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return writer.nil();
    writer.integer(1);
  });
}

Next object_idletime(Call &call) {
  return read_key(call, call.arguments[2], [](Writer &writer, const KeyState *state, Row) {
    state == nullptr ? writer.nil() : writer.integer(0);
  });
}

Next object_freq(Call &call) {
  return read_key(call, call.arguments[2], [](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return writer.nil();
    writer.error(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching "
        "between policies at runtime LRU and LFU data will take some time to adjust.");
  });
}

}  // namespace lower
}  // namespace postern::redis
