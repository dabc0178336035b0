// stream_id.h: StreamId, the id of an entry of a stream: milliseconds and a number, `1526919030474-55`.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/bytes.h"

namespace postern::redis {

struct StreamId {
  uint64_t ms = 0;
  uint64_t number = 0;

  auto operator<=>(const StreamId &) const = default;
  bool is_zero() const { return ms == 0 && number == 0; }
  std::string text() const;
};

inline constexpr StreamId last_stream_id{std::numeric_limits<uint64_t>::max(), std::numeric_limits<uint64_t>::max()};

/// The maximum bytes of an id.
inline constexpr size_t stream_id_bytes_max = 41;
/// Writes the id and returns its end.
char *print_stream_id(char *to, StreamId id);

/// Advances to the next id. False: there is none.
[[nodiscard]] bool step_forward(StreamId &id);
/// Steps back to the previous id. False: there is none.
[[nodiscard]] bool step_back(StreamId &id);

/// Parses `ms` or `ms-number`; `missing` stands for a missing number.
[[nodiscard]] bool parse_stream_id(Bytes text, uint64_t missing, StreamId &id);
/// The same, and `-` and `+` are the smallest and the largest id.
[[nodiscard]] bool parse_stream_end(Bytes text, uint64_t missing, StreamId &id);

}  // namespace postern::redis
