#include "redis/expiry_arguments.h"

#include <string>

#include "redis/wire/numbers.h"

namespace postern::redis {

std::optional<ExpiryUnit> expiry_unit(Bytes word) {
  if (is_word(word, "ex")) return ExpiryUnit::seconds;
  if (is_word(word, "px")) return ExpiryUnit::milliseconds;
  if (is_word(word, "exat")) return ExpiryUnit::unix_seconds;
  if (is_word(word, "pxat")) return ExpiryUnit::unix_milliseconds;
  return std::nullopt;
}

bool read_expiry(Call &call, ExpiryUnit unit, Bytes number, int64_t &expires_ms, bool any) {
  if (!parse_integer(number, expires_ms)) {
    refuse(call, not_an_integer);
    return false;
  }
  const bool seconds = unit == ExpiryUnit::seconds || unit == ExpiryUnit::unix_seconds;
  const bool from_now = unit == ExpiryUnit::seconds || unit == ExpiryUnit::milliseconds;
  bool good = any || expires_ms > 0;
  if (seconds) good = good && !__builtin_mul_overflow(expires_ms, int64_t{1'000}, &expires_ms);
  if (from_now) good = good && !__builtin_add_overflow(expires_ms, call.now_ms, &expires_ms);
  if (good) return true;
  refuse(call, "ERR invalid expire time in '" + std::string(call.command.name) + "' command");
  return false;
}

}  // namespace postern::redis
