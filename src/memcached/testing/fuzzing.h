// fuzzing.h: what the fuzzers of the parsers promise in common: the same requests however their bytes are cut.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace postern::memcached::test {

inline void require(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

/// A Receiver that was given the pieces one by one.
template <class Receiver>
Receiver received(std::initializer_list<std::string_view> pieces) {
  Receiver receiver;
  for (const std::string_view piece : pieces) receiver.receive(piece);
  return receiver;
}

/// The first byte of an input chooses where the rest is cut in two. Returns who received it whole.
template <class Receiver>
Receiver received_in_any_pieces(std::string_view input) {
  const auto choice = static_cast<unsigned char>(input[0]);
  const std::string_view bytes = input.substr(1);
  const size_t at = choice * bytes.size() / 256;
  Receiver whole = received<Receiver>({bytes});
  const Receiver cut = received<Receiver>({bytes.substr(0, at), bytes.substr(at)});
  require(cut.requests() == whole.requests() && cut.closed() == whole.closed(), "the same however it is cut");
  return whole;
}

}  // namespace postern::memcached::test
