// expiry_arguments.h: parses the expiry options of commands.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "redis/call.h"

namespace postern::redis {

/// A time from now, or since 1970.
enum class ExpiryUnit : uint8_t { seconds, milliseconds, unix_seconds, unix_milliseconds };

/// EX, PX, EXAT or PXAT, and its number. The last one counts, and all must have the same unit.
struct ExpiryOption {
  std::optional<ExpiryUnit> unit{};
  Bytes number{};

  /// Parses the option at `at`, and advances `at` to its number. False: no such option is allowed here.
  bool take(std::span<const Bytes> arguments, size_t &at);
};

/// Milliseconds since 1970, possibly in the past. Returns false after answering an error, if `number` is out of range
/// for `unit`. `any`: allows 0 and negative numbers.
bool read_expiry(Call &call, ExpiryUnit unit, Bytes number, int64_t &expires_ms, bool any = false);
/// The same, but returns the error, in the arena; empty: none.
Bytes expiry_error(Call &call, ExpiryUnit unit, Bytes number, int64_t &expires_ms, bool any = false);

}  // namespace postern::redis
