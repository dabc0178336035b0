// range_tell.h: RangeTell, which answers elements from one rank or index to another, with their number first.
#pragma once

#include <algorithm>
#include <cstdint>

#include "redis/collections/collections.h"
#include "redis/collections/scores.h"

namespace postern::redis {

/// From one place to another, both included; negative ones count from the end.
struct Places {
  int64_t first = 0;
  int64_t last = -1;

  /// The first `count` after `offset` of `length`.
  struct Stretch {
    uint64_t offset = 0;
    uint64_t count = 0;
  };
  Stretch in(uint64_t length) const {
    const auto size = static_cast<int64_t>(length);
    const int64_t from = std::max<int64_t>(first < 0 ? first + size : first, 0);
    const int64_t to = std::min(last < 0 ? last + size : last, size - 1);
    if (from > to) return {};
    return {static_cast<uint64_t>(from), static_cast<uint64_t>(to - from + 1)};
  }
  /// Whether the range is known without the length, so that one find reads it.
  bool known() const { return first >= 0 && (last >= first || last == -1); }
  uint64_t limit() const { return last == -1 ? all_rows : static_cast<uint64_t>(last - first) + 1; }
};

struct RangeTell {
  Places places;
  uint32_t column = 1;
  bool with_scores = false;
  static constexpr bool counted = true;

  void absent(Writer &writer) const { begin(writer, 0); }
  uint64_t count(const KeyState &entry) const { return places.in(entry.len).count; }
  void begin(Writer &writer, uint64_t count) const { writer.array(with_scores && !writer.three() ? 2 * count : count); }
  void row(Writer &writer, Row row) const {
    char room[20];
    if (with_scores && writer.three()) writer.array(2);
    writer.bulk(text_of(row[column], room));
    if (with_scores) writer.number(score_in(row[redis::column::score]));
  }
  void end(Writer &, uint64_t) const {}
};

/// Answers an empty range, if the key has that type or does not exist.
inline Next tell_nothing(Call &call, Type type) {
  return read_key(call, call.arguments[1], [type](Writer &writer, const KeyState *state, Row) {
    state == nullptr || state->type == type ? writer.array(0) : writer.error(wrong_type);
  });
}

}  // namespace postern::redis
