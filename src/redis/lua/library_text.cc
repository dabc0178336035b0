#include "redis/lua/library_text.h"

#include <strings.h>

#include <optional>
#include <utility>
#include <vector>

#include "redis/lua/function_library.h"

namespace postern::redis {
namespace {

bool is_blank(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

/// Takes what follows a backslash.
char take_escaped(Bytes &line) {
  if (line.size() >= 3 && line[0] == 'x' && hex_digit(line[1]) >= 0 && hex_digit(line[2]) >= 0) {
    const auto byte = static_cast<char>(hex_digit(line[1]) * 16 + hex_digit(line[2]));
    line.remove_prefix(3);
    return byte;
  }
  const char byte = line.front();
  line.remove_prefix(1);
  switch (byte) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return byte;
  }
}

/// Takes the rest of a quoted word. Returns false if it does not end, or ends inside a word.
bool take_quoted(Bytes &line, char quote, std::string &word) {
  while (!line.empty()) {
    const char byte = line.front();
    line.remove_prefix(1);
    if (byte == quote) return line.empty() || is_blank(line.front());
    const bool escaped = byte == '\\' && !line.empty() && (quote == '"' || line.front() == '\'');
    word += escaped ? take_escaped(line) : byte;
  }
  return false;
}

std::string take_engine(Bytes word) {
  const Bytes engine = word.substr(2);
  if (engine.size() == 3 && strncasecmp(engine.data(), "lua", 3) == 0) return {};
  return "ERR Engine '" + std::string(engine) + "' not found";
}

}  // namespace

bool split_words(Bytes line, const std::function<void(std::string)> &take) {
  for (;;) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.empty()) return true;
    std::string word;
    while (!line.empty() && !is_blank(line.front())) {
      const char byte = line.front();
      line.remove_prefix(1);
      if (byte != '"' && byte != '\'') word += byte;
      else if (!take_quoted(line, byte, word)) return false;
    }
    take(std::move(word));
  }
}

std::string read_library_text(Bytes text, LibraryText &library) {
  constexpr Bytes name_begin = "name=";
  if (!text.starts_with("#!")) return "ERR Missing library metadata";
  // Redis reads a text of C.
  const size_t end = text.substr(0, text.find('\0')).find('\n');
  std::vector<std::string> words;
  if (end == Bytes::npos ||
      !split_words(text.substr(0, end), [&](std::string word) { words.push_back(std::move(word)); }))
    return "ERR Invalid library metadata";
  std::optional<std::string> name;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (strncasecmp(word.c_str(), name_begin.data(), name_begin.size()) != 0)
      return "ERR Invalid metadata value given: " + word;
    if (name) return "ERR Invalid metadata value, name argument was given multiple times";
    name = word.substr(name_begin.size());
  }
  if (!name) return "ERR Library name was not given";
  if (!lua::is_function_name(*name)) return std::string("ERR ") + lua::bad_function_name;
  library.name = std::move(*name);
  library.body = text.substr(end);
  return take_engine(words.front());
}

}  // namespace postern::redis
