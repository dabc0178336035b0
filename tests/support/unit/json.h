// json.h: the JSON of test vectors and transcripts: each character of a string (U+0000 to U+00FF) stands for a byte.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace postern::test {

using Json = nlohmann::json;

/// The bytes for which the characters of a UTF-8 string stand.
inline std::string bytes_for(const std::string &characters) {
  std::string bytes;
  for (size_t at = 0; at < characters.size(); ++at) {
    unsigned value = static_cast<unsigned char>(characters[at]);
    // Above U+007F a character is two bytes of UTF-8.
    if (value >= 0x80) value = (value & 0x03) << 6 | (static_cast<unsigned char>(characters[++at]) & 0x3f);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

/// Parses a text or a stream; each string becomes its bytes.
template <typename Input>
Json read_json(Input &&input) {
  return Json::parse(std::forward<Input>(input), [](int, Json::parse_event_t, Json &parsed) {
    if (parsed.is_string()) parsed = bytes_for(parsed.get_ref<const std::string &>());
    return true;
  });
}

/// A member of an object; null if it is missing.
inline const Json &member(const Json &object, const char *name) {
  static const Json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

/// The bytes of a string, valid as long as the JSON; none for null.
inline const std::string &bytes_of(const Json &json) {
  static const std::string none;
  return json.is_null() ? none : json.get_ref<const std::string &>();
}

inline const std::string &bytes_of(const Json &object, const char *name) {
  return bytes_of(member(object, name));
}

}  // namespace postern::test
