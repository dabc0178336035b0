#include "redis/wire/numbers.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace postern::redis {
namespace {

/// Longer than any meaningful text of a number.
constexpr size_t float_text_bytes_max = 5 * 1024;

}  // namespace

bool parse_integer(Bytes text, int64_t &number) {
  if (text == "0") {
    number = 0;
    return true;
  }
  const Bytes digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.front() < '1' || digits.front() > '9') return false;
  const char *const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end;
}

namespace {

/// `parse`: strtod() or strtold(). It needs a zero byte at the end; it depends on the locale, which is C in a server.
template <class Number>
bool parse_floating(Bytes text, Number &number, Number (*parse)(const char *, char **)) {
  if (text.empty() || text.size() >= float_text_bytes_max) return false;
  const char first = text.front();
  if (first == ' ' || (first >= '\t' && first <= '\r')) return false;
  if (text.find('\0') != Bytes::npos) return false;
  char copy[float_text_bytes_max];
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  char *stop = nullptr;
  errno = 0;
  number = parse(copy, &stop);
  if (stop != copy + text.size() || std::isnan(number)) return false;
  return errno != ERANGE || (!std::isinf(number) && std::fpclassify(number) != FP_ZERO);
}

}  // namespace

bool parse_long_double(Bytes text, long double &number) {
  return parse_floating(text, number, std::strtold);
}

bool parse_double(Bytes text, double &number) {
  return parse_floating(text, number, std::strtod);
}

bool parse_score_end(Bytes text, double &score) {
  if (text.size() >= float_text_bytes_max || text.find('\0') != Bytes::npos) return false;
  char copy[float_text_bytes_max];
  std::copy(text.begin(), text.end(), copy);
  copy[text.size()] = '\0';
  char *stop = nullptr;
  score = std::strtod(copy, &stop);
  return stop == copy + text.size() && !std::isnan(score);
}

size_t print_double(char *to, double number) {
  if (std::isinf(number)) {
    const Bytes text = number > 0 ? "inf" : "-inf";
    std::memcpy(to, text.data(), text.size());
    return text.size();
  }
  return static_cast<size_t>(std::snprintf(to, 40, "%.17g", number));
}

size_t print_long_double(char *to, long double number) {
  auto size = static_cast<size_t>(std::snprintf(to, number_bytes_max, "%.17Lf", number));
  if (std::memchr(to, '.', size) != nullptr) {
    while (to[size - 1] == '0') --size;
    if (to[size - 1] == '.') --size;
  }
  if (size == 2 && to[0] == '-' && to[1] == '0') {
    to[0] = '0';
    size = 1;
  }
  return size;
}

}  // namespace postern::redis
