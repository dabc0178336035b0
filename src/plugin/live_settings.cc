#include "live_settings.h"

#include <mutex>
#include <set>

#include "settings.h"

namespace postern::plugin {
namespace {

// The server's numbers of errors.
constexpr unsigned no_such_thread = 1094;
constexpr unsigned wrong_value = 1231;
constexpr unsigned unknown_error = 1105;

std::string text_of(st_mysql_value *given) {
  char room[256];
  int size = sizeof room;
  const char *const text = given->val_str(given, room, &size);
  return text != nullptr ? std::string(text, static_cast<size_t>(size)) : std::string();
}

/// A copy that lives for ever, one for each word.
const char *kept(const std::string &word) {
  static std::mutex mutex;
  static std::set<std::string> words;
  const std::lock_guard guard(mutex);
  return words.insert(word).first->c_str();
}

}  // namespace

bool take_word(const char *setting, const char *words, st_mysql_value *given, void *taken) {
  unsigned position = 0;
  std::string word;
  const std::string text = text_of(given);
  if (!find_word(text.c_str(), words, position, word)) {
    my_printf_error(wrong_value, "Variable '%s' can't be set to the value of '%s': it is one of %s", 0UL, setting,
                    text.c_str(), words);
    return false;
  }
  *static_cast<const char **>(taken) = kept(word);
  return true;
}

bool take_text(MYSQL_THD thd, const char *setting, st_mysql_value *given, void *taken, size_t bytes_max) {
  const std::string text = text_of(given);
  if (text.size() > bytes_max || text.find('\0') != std::string::npos) {
    my_printf_error(wrong_value, "Variable '%s' can't be set to this value: it has at most %lu bytes, and none is 0",
                    0UL, setting, static_cast<unsigned long>(bytes_max));
    return false;
  }
  char *const copy = thd_strmake(thd, text.data(), text.size());
  *static_cast<const char **>(taken) = copy;
  return copy != nullptr;
}

bool take_number(const char *setting, st_mysql_value *given, void *taken, unsigned long long least,
                 unsigned long long most) {
  long long number = 0;
  given->val_int(given, &number);
  const auto found = static_cast<unsigned long long>(number);
  const bool negative = number < 0 && !given->is_unsigned(given);
  if (negative || found < least || found > most) {
    my_printf_error(wrong_value, "Variable '%s' can't be set to this value: it is a number from %llu to %llu", 0UL,
                    setting, least, most);
    return false;
  }
  *static_cast<unsigned long long *>(taken) = found;
  return true;
}

bool take_secret(MYSQL_THD thd, const char *setting, st_mysql_value *given, void *taken) {
  const std::string text = text_of(given);
  if (text.empty()) {
    my_printf_error(wrong_value, "Variable '%s' can't be empty: whoever is to let in everybody restarts the plugin",
                    0UL, setting);
    return false;
  }
  char *const copy = thd_strmake(thd, text.data(), text.size());
  *static_cast<const char **>(taken) = copy;
  return copy != nullptr;
}

bool take_connection(st_mysql_value *given, void *taken, door::Ended (*may_end)(uint64_t id)) {
  long long id = 0;
  given->val_int(given, &id);
  const auto number = static_cast<unsigned long long>(id);
  *static_cast<unsigned long long *>(taken) = number;
  switch (may_end(number)) {
    case door::Ended::ended: return true;
    case door::Ended::unknown: my_printf_error(no_such_thread, "Unknown connection id: %llu", 0UL, number); break;
    case door::Ended::session:
      my_printf_error(unknown_error, "Connection %llu is a session of the server, which KILL ends", 0UL, number);
      break;
  }
  return false;
}

void refuse_value(const char *setting, const char *why) {
  my_printf_error(wrong_value, "Variable '%s' can't be set to this value: %s", 0UL, setting, why);
}

std::string taken_text(const void *taken) {
  return *static_cast<const char *const *>(taken);
}

std::string taken_number(const void *taken) {
  return std::to_string(*static_cast<const unsigned long long *>(taken));
}

char *kept_word(const char *words, const void *given, unsigned &position) {
  std::string word;
  (void)find_word(*static_cast<const char *const *>(given), words, position, word);
  return const_cast<char *>(kept(word));
}

char *replace_text(const void *given, std::string &kept) {
  const char *const text = *static_cast<const char *const *>(given);
  kept = text != nullptr ? text : "";
  return kept.data();
}

bool replace_secret(const void *given, std::string &kept) {
  const char *const text = *static_cast<const char *const *>(given);
  if (text == nullptr || *text == '\0') return false;
  kept = text;
  return true;
}

}  // namespace postern::plugin
