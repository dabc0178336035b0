// command_line.h: CommandLine, a complete line that is parsed to a request, and functions that read its words.
//
// Lives on the stack of TextFramer::take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "memcached/wire/request.h"
#include "memcached/wire/tokens.h"

namespace postern::memcached {

/// The largest length of a value that memcached accepts, including its line end.
inline constexpr int64_t length_max = std::numeric_limits<int32_t>::max() - 2;

struct CommandLine {
  const Words &words;
  Request &request;
  bool has_value = false;  ///< a value of `value_bytes` and a line end follow, even for a refused request
  size_t value_bytes = 0;  ///< at most length_max

  void refuse(Refusal refusal, Bytes line = {}) const {
    request.action = Action::refused;
    request.refusal = refusal;
    request.refusal_line = line;
  }
  bool refused() const { return request.action == Action::refused; }

  /// Parses the length of the value that follows the line.
  bool announce_value(Bytes word) {
    int64_t bytes = 0;
    if (!parse_integer(word, bytes) || bytes < 0 || bytes > length_max) return false;
    has_value = true;
    value_bytes = static_cast<size_t>(bytes);
    return true;
  }
};

}  // namespace postern::memcached
