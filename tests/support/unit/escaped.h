// escaped.h: bytes as printable text, with \t \n \r \\ and \xNN, as transcripts and decisions write them.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace postern::test {

inline std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    switch (byte) {
      case '\t': text += "\\t"; continue;
      case '\n': text += "\\n"; continue;
      case '\r': text += "\\r"; continue;
      case '\\': text += "\\\\"; continue;
    }
    if (byte >= 0x20 && byte < 0x7f) {
      text += byte;
      continue;
    }
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(byte));
    text += hex;
  }
  return text;
}

inline std::string unescaped(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      bytes += text[i];
      continue;
    }
    switch (text[++i]) {
      case 't': bytes += '\t'; break;
      case 'n': bytes += '\n'; break;
      case 'r': bytes += '\r'; break;
      case 'x':
        bytes += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
        break;
      default: bytes += text[i];
    }
  }
  return bytes;
}

}  // namespace postern::test
