// Any text is some kind of housekeeping or none; surrounding white space and comments change nothing, and neither does
// the case of letters outside literals and comments.
#include <cstdint>
#include <string>

#include "engine/sql/texts/housekeeping.h"
#include "support/unit/fuzzing.h"

namespace postern::sql {
namespace {

void check(Bytes input) {
  const Housekeeping kind = housekeeping_of(input);
  if (input.size() + 20 > housekeeping_bytes_max) return;
  const std::string around = "\t/* a */ " + std::string(input) + " ";
  if (kind != Housekeeping::none)
    test::require(housekeeping_of(around) == kind, "the same with white space around it", input);
  if (kind == Housekeeping::none) return;
  test::require(housekeeping_of(std::string(input) + "x'") == Housekeeping::none, "nothing with a quote behind it",
                input);
}

}  // namespace
}  // namespace postern::sql

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  postern::sql::check({reinterpret_cast<const char *>(data), size});
  return 0;
}
