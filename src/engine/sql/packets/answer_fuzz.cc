// Any bytes that are accepted as a server's answer: an answer made from them begins and ends as they do, consists of
// whole packets with consecutive numbers, and is parsed to the same answer again.
//
// The first byte of an input chooses the form.
#include <cstdint>
#include <string>

#include "engine/sql/packets/answer.h"
#include "support/unit/fuzzing.h"

namespace postern::sql {
namespace {

using test::require;

void check(Bytes input) {
  const auto choice = static_cast<unsigned char>(input[0]);
  const AnswerForm form{(choice & 1) != 0, (choice & 2) != 0, (choice & 4) != 0};
  const Bytes packets = input.substr(1);
  const auto answer = Answer::of(packets, form);
  if (!answer) return;
  require(answer->columns() != 0, "an answer has columns");
  Output output;
  Packets again(output);
  answer->put_head(again, 0x1234);
  for (int rows = choice >> 4; rows != 0; --rows) again.put("\1r");
  answer->put_end(again, answer->status());
  const Bytes written = output.written_since(0);
  const auto same = Answer::of(written, form);
  require(same.has_value(), "is an answer again", written);
  require(same->columns() == answer->columns() && same->status() == answer->status(), "the same one", written);
  if ((choice & 1) == 0) return;
  Output first;
  Packets packet(first);
  answer->put_head(packet, 0);
  require(packets.starts_with(first.written_since(0)), "without a status in it, the same beginning");
}

}  // namespace
}  // namespace postern::sql

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size != 0) postern::sql::check({reinterpret_cast<const char *>(data), size});
  return 0;
}
