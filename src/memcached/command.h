// command.h: Command, a complete line on its way to becoming a request, and what reads the words of one.
//
// Lives on the stack of TextParser::take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "memcached/request.h"
#include "memcached/tokens.h"

namespace postern::memcached {

/// The largest length of a value that memcached reads as one, its line end counted.
inline constexpr int64_t length_max = std::numeric_limits<int32_t>::max() - 2;

struct Command {
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

/// Each takes a line with at least one word.
void parse_text(Command &command);
/// `mn`, `mg` and so on. A key in base64 is checked but left as it came: see decode_key().
void parse_meta(Command &command);
/// Decodes a checked key in place. Once a request: the line is parsed again for as long as its value is not there.
void decode_key(Request &request);

}  // namespace postern::memcached
