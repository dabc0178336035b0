#include "settings.h"

#include <string.h>
#include <strings.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/log.h"

namespace postern::plugin {

bool is_within(const char *setting, unsigned long long value, unsigned long long least, unsigned long long most) {
  if (value >= least && value <= most) return true;
  log::error("%s is to be a number from %llu to %llu", setting, least, most);
  return false;
}

bool is_short(const char *setting, const char *value, size_t bytes_max) {
  if (value == nullptr || strlen(value) <= bytes_max) return true;
  log::error("%s is to have at most %zu bytes", setting, bytes_max);
  return false;
}

bool find_word(const char *value, const char *words, unsigned &position, std::string &word) {
  const std::string given = value != nullptr ? value : "";
  std::string_view rest = words;
  for (position = 0; !rest.empty(); ++position) {
    word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (strcasecmp(given.c_str(), word.c_str()) == 0 || given == std::to_string(position)) return true;
  }
  return false;
}

bool is_one_of(const char *setting, const char *value, const char *words, unsigned &position) {
  std::string word;
  if (find_word(value, words, position, word)) return true;
  log::error("%s: '%s' is none of: %s", setting, value != nullptr ? value : "", words);
  return false;
}

}  // namespace postern::plugin
