// command_line.h: CommandLine, a complete line on its way to becoming a request, and what reads the words of one.
//
// Lives on the stack of TextFramer::take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "memcached/wire/request.h"
#include "memcached/wire/tokens.h"

namespace postern::memcached {

/// The largest length of a value that memcached reads as one, its line end counted.
inline constexpr int64_t length_max = std::numeric_limits<int32_t>::max() - 2;

struct CommandLine {
  const Words &words;
  Request &request;
  bool has_value = false;  ///< `value_bytes` of value and a line end follow, of a refused request, too
  size_t value_bytes = 0;  ///< at most length_max

  void refuse(Refusal refusal, Bytes line = {}) const {
    request.action = Action::refused;
    request.refusal = refusal;
    request.refusal_line = line;
  }
  bool refused() const { return request.action == Action::refused; }

  /// Reads how long the value is that follows the line.
  bool announce_value(Bytes word) {
    int64_t bytes = 0;
    if (!parse_integer(word, bytes) || bytes < 0 || bytes > length_max) return false;
    has_value = true;
    value_bytes = static_cast<size_t>(bytes);
    return true;
  }
};

}  // namespace postern::memcached
