// plain_tokens.h: the tokenizer once more, as plainly as it can be said: what token.h is compared with in tests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postern::handlersocket::plain {

struct Token {
  std::string raw;
  bool null = false;
  std::optional<std::string> value{};  ///< without one: a malformed escape, or NULL
};

inline Token token(std::string_view raw) {
  Token token{.raw = std::string(raw)};
  if (raw.size() == 1 && raw[0] == 0) {
    token.null = true;
    return token;
  }
  std::string value;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != 1) {
      value += raw[i];
      continue;
    }
    if (++i == raw.size() || static_cast<unsigned char>(raw[i]) < 0x40) return token;
    value += static_cast<char>(raw[i] - 0x40);
  }
  token.value = value;
  return token;
}

inline std::vector<Token> tokens(std::string_view line) {
  std::vector<Token> found;
  size_t start = 0;
  for (size_t i = 0; i <= line.size(); ++i) {
    if (i != line.size() && line[i] != '\t') continue;
    found.push_back(token(line.substr(start, i - start)));
    start = i + 1;
  }
  return found;
}

}  // namespace postern::handlersocket::plain
