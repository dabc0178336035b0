// same_tokens.h: whether token.h and plain_tokens.h see the same tokens in a line; shared by test and fuzzer.
#pragma once

#include <memory>
#include <cstring>
#include <string_view>

#include "handlersocket/testing/plain_tokens.h"
#include "handlersocket/token.h"

namespace postern::handlersocket::plain {

/// Reads the line as raw tokens, as numbers and as values. The copies are exactly as long as the line, so that a
/// sanitizer sees a read beyond its end.
inline bool same_tokens(std::string_view line) {
  const auto copy = [line] {
    auto bytes = std::make_unique<char[]>(line.size());
    if (!line.empty()) std::memcpy(bytes.get(), line.data(), line.size());
    return bytes;
  };
  const std::vector<Token> expected = tokens(line);
  const auto raw_line = copy();
  Tokens raw(raw_line.get(), raw_line.get() + line.size());
  const auto number_line = copy();
  Tokens numbers(number_line.get(), number_line.get() + line.size());
  const auto value_line = copy();
  Tokens values(value_line.get(), value_line.get() + line.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!raw.more() || raw.left() != expected.size() - i || raw.take() != expected[i].raw) return false;
    if (numbers.take_natural() != natural(expected[i].raw)) return false;
    Value value;
    const bool wellformed = values.take_value(value);
    if (wellformed != (expected[i].null || expected[i].value.has_value())) return false;
    if (!wellformed) continue;
    if (value.is_null() != expected[i].null) return false;
    if (!value.is_null() && value.bytes() != *expected[i].value) return false;
  }
  return !raw.more() && raw.left() == 0 && raw.take().empty() && !numbers.more() && numbers.take_natural() == 0;
}

}  // namespace postern::handlersocket::plain
