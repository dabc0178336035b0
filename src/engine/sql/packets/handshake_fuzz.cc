// Whatever a server sends, in any pieces, the client's half of a handshake ends, sends only whole packets with
// consecutive numbers, and never sends its password to a method that did not ask for it.
//
// The first byte of an input chooses how long the pieces are; the pieces are received one by one.
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/sql/packets/handshake.h"
#include "support/unit/fuzzing.h"

namespace postern::sql {
namespace {

using test::require;

constexpr Proofs proofs{
    .native = [](Bytes, Bytes) { return std::string(20, 'n'); },
    .ed25519 = [](Bytes, Bytes) { return std::string(64, 'e'); },
    .sha2 = [](Bytes, Bytes) { return std::string(32, 's'); },
    .seal = [](Bytes, Bytes) { return std::string(256, 'r'); },
};
constexpr Bytes password = "only for those who ask";

void check(Bytes input) {
  const size_t step = static_cast<unsigned char>(input[0]) + 1;
  Bytes rest = input.substr(1);
  const bool asks = rest.find("mysql_clear_password") != Bytes::npos || rest.find("dialog") != Bytes::npos;
  Handshake handshake("ann", password, proofs);
  int answers = 0;
  while (!rest.empty()) {
    const Bytes piece = rest.substr(0, step);
    rest.remove_prefix(piece.size());
    handshake.hear(piece);
    std::string said;
    char some[50];
    while (const size_t size = handshake.say(some, sizeof some)) {
      require(size <= sizeof some, "no more than there is room");
      said.append(some, size);
    }
    if (said.empty()) continue;
    const auto byte = [&said](size_t at) { return static_cast<unsigned char>(said[at]); };
    require(said.size() >= 4 && said.size() - 4 == (byte(0) | size_t{byte(1)} << 8 | size_t{byte(2)} << 16),
            "one whole packet", said);
    require(asks || said.find(password) == std::string::npos, "the password stays here", said);
    ++answers;
  }
  require(answers <= 16, "it ends");
}

}  // namespace
}  // namespace postern::sql

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size != 0) postern::sql::check({reinterpret_cast<const char *>(data), size});
  return 0;
}
