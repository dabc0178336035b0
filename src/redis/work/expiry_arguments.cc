#include "redis/work/expiry_arguments.h"

#include <string>

#include "redis/wire/numbers.h"

namespace postern::redis {

namespace {

std::optional<ExpiryUnit> expiry_unit(Bytes word) {
  if (is_word(word, "ex")) return ExpiryUnit::seconds;
  if (is_word(word, "px")) return ExpiryUnit::milliseconds;
  if (is_word(word, "exat")) return ExpiryUnit::unix_seconds;
  if (is_word(word, "pxat")) return ExpiryUnit::unix_milliseconds;
  return std::nullopt;
}

}  // namespace

bool ExpiryOption::take(std::span<const Bytes> arguments, size_t &at) {
  const std::optional<ExpiryUnit> here = expiry_unit(arguments[at]);
  if (!here || (unit && unit != here) || at + 1 == arguments.size()) return false;
  unit = here;
  number = arguments[++at];
  return true;
}

Bytes expiry_error(Call &call, ExpiryUnit unit, Bytes number, int64_t &expires_ms, bool any) {
  if (!parse_integer(number, expires_ms)) return not_an_integer;
  const bool seconds = unit == ExpiryUnit::seconds || unit == ExpiryUnit::unix_seconds;
  const bool from_now = unit == ExpiryUnit::seconds || unit == ExpiryUnit::milliseconds;
  bool good = any || expires_ms > 0;
  if (seconds) good = good && !__builtin_mul_overflow(expires_ms, int64_t{1'000}, &expires_ms);
  if (from_now) good = good && !__builtin_add_overflow(expires_ms, call.now_ms, &expires_ms);
  if (good) return {};
  return call.arena().copy("ERR invalid expire time in '" + std::string(call.command.name) + "' command");
}

bool read_expiry(Call &call, ExpiryUnit unit, Bytes number, int64_t &expires_ms, bool any) {
  const Bytes error = expiry_error(call, unit, number, expires_ms, any);
  if (!error.empty()) refuse(call, error);
  return error.empty();
}

}  // namespace postern::redis
