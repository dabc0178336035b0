// json.h: reads the JSON of the test vectors: objects, arrays, strings whose characters are bytes (latin-1),
// numbers, true, false, null. For trusted input.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace postern::test {

struct Json {
  std::map<std::string, Json> members;
  std::vector<Json> items;
  std::string text;  ///< a string's, or a number, true, false, null as written

  const Json &operator[](const std::string &name) const {
    static const Json none;
    const auto found = members.find(name);
    return found == members.end() ? none : found->second;
  }
};

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Json read() {
    Json json;
    switch (peek()) {
      case '{':
        ++at_;
        while (peek() != '}') {
          std::string name = read().text;
          ++at_, peek();  // the colon
          json.members[name] = read();
          if (peek() == ',') ++at_;
        }
        ++at_;
        break;
      case '[':
        ++at_;
        while (peek() != ']') {
          json.items.push_back(read());
          if (peek() == ',') ++at_;
        }
        ++at_;
        break;
      case '"': json.text = string(); break;
      default:
        while (at_ < text_.size() && std::string_view(",]} \n").find(text_[at_]) == std::string_view::npos)
          json.text += text_[at_++];
    }
    return json;
  }

 private:
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == ':')) ++at_;
    return at_ < text_.size() ? text_[at_] : '}';
  }

  std::string string() {
    std::string bytes;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      const unsigned char byte = static_cast<unsigned char>(text_[at_]);
      if (byte >= 0xc0) {  // U+0080 to U+00FF in UTF-8
        bytes += static_cast<char>((byte & 0x03) << 6 | (static_cast<unsigned char>(text_[++at_]) & 0x3f));
        continue;
      }
      if (byte != '\\') {
        bytes += text_[at_];
        continue;
      }
      switch (text_[++at_]) {
        case 't': bytes += '\t'; break;
        case 'n': bytes += '\n'; break;
        case 'r': bytes += '\r'; break;
        case 'b': bytes += '\b'; break;
        case 'f': bytes += '\f'; break;
        case 'u':
          bytes += static_cast<char>(std::stoi(std::string(text_.substr(at_ + 1, 4)), nullptr, 16));
          at_ += 4;
          break;
        default: bytes += text_[at_];
      }
    }
    ++at_;
    return bytes;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace postern::test
