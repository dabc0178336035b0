// fuzzing.h: shared by fuzzers: how they report a failure, and the check that requests are the same however their bytes
// are cut.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "support/unit/escaped.h"

namespace postern::test {

/// Ends the program if `holds` is false. `where`: the bytes that violate it, if they help to see why.
inline void require(bool holds, const char *what, std::string_view where = {}) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s%s%s\n", what, where.empty() ? "" : ": ", escaped(where).c_str());
  std::abort();
}

/// A Receiver that has got the pieces one by one.
template <class Receiver>
Receiver received(std::initializer_list<std::string_view> pieces) {
  Receiver receiver;
  for (const std::string_view piece : pieces) receiver.receive(piece);
  return receiver;
}

/// The first byte of an input chooses where the rest is cut in two. Returns the receiver that got the whole.
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

}  // namespace postern::test
