// Any bytes as the value of a key: nothing is read beyond its end, and an accepted value is written and read as the
// same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "redis/wire/rdb.h"
#include "redis/wire/rdb_value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace postern::redis::rdb;
  constexpr size_t bytes_max = size_t{4} << 20;
  std::string payload(reinterpret_cast<const char *>(data), size);
  put_footer(payload);
  DumpedValue value;
  if (!restore(payload, bytes_max, value)) return 0;
  const std::string written = dump(value);
  DumpedValue again;
  if (!has_valid_footer(written) || !restore(written, 2 * bytes_max, again) || dump(again) != written) std::abort();
  return 0;
}
