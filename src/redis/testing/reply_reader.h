// reply_reader.h: how far bytes are well-formed replies of RESP2 or RESP3.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "redis/wire/numbers.h"

namespace postern::redis {

/// The end of the reply that begins at `at`; 0: there is no whole one, or it is malformed.
inline size_t reply_end(Bytes bytes, size_t at, int depth = 0) {
  const size_t line_end = bytes.find("\r\n", at);
  if (at >= bytes.size() || line_end == Bytes::npos || depth > 10) return 0;
  const char type = bytes[at];
  const Bytes line = bytes.substr(at + 1, line_end - at - 1);
  const size_t behind = line_end + 2;
  int64_t number = 0;
  double real = 0;
  switch (type) {
    case '+':
    case '-': return line.empty() || line.find_first_of("\r\n") != Bytes::npos ? 0 : behind;
    case '_': return line.empty() ? behind : 0;
    case ':': return parse_integer(line, number) ? behind : 0;
    case ',': return parse_double(line, real) ? behind : 0;
    case '$':
    case '=': {
      if (type == '$' && line == "-1") return behind;
      if (!parse_integer(line, number) || number < 0) return 0;
      const size_t end = behind + static_cast<size_t>(number);
      return end + 2 <= bytes.size() && bytes.substr(end, 2) == "\r\n" ? end + 2 : 0;
    }
    case '*':
    case '>':
    case '~':
    case '%': {
      if (type == '*' && line == "-1") return behind;
      if (!parse_integer(line, number) || number < 0) return 0;
      size_t next = behind;
      for (int64_t i = type == '%' ? 2 * number : number; i > 0 && next != 0; --i)
        next = reply_end(bytes, next, depth + 1);
      return next;
    }
    default: return 0;
  }
}

/// How many of the bytes are whole replies.
inline size_t whole_replies(Bytes bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t end = reply_end(bytes, at);
    if (end == 0) return at;
    at = end;
  }
  return at;
}

}  // namespace postern::redis
