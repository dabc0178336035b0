#include "base/http.h"

#include <algorithm>

namespace postern {
namespace {

constexpr Bytes methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"};

bool starts_with_host(Bytes line) {
  constexpr Bytes name = "host:";
  // Field names know no case.
  return line.size() >= name.size() && std::equal(name.begin(), name.end(), line.begin(),
                                                  [](char small, char byte) { return small == (byte | 0x20); });
}

/// `/path`, or the whole address, as it is sent to a proxy.
bool is_target(Bytes word) {
  return word.starts_with('/') || word.starts_with("http://") || word.starts_with("https://");
}

}  // namespace

bool is_http(Bytes line) {
  while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
  if (starts_with_host(line)) return true;
  const size_t last = line.rfind(' ');
  if (last == Bytes::npos) return false;
  if (line.substr(last + 1).starts_with("HTTP/")) return true;
  const size_t first = line.find(' ');
  return std::find(std::begin(methods), std::end(methods), line.substr(0, first)) != std::end(methods) &&
         is_target(line.substr(first + 1));
}

}  // namespace postern
