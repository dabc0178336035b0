// expiry_arguments.h: when a key is to expire, as a client says it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "redis/call.h"

namespace postern::redis {

/// A time from now, or since 1970.
enum class ExpiryUnit : uint8_t { seconds, milliseconds, unix_seconds, unix_milliseconds };

/// EX, PX, EXAT or PXAT, and its number. The last one counts, and all are of the same unit.
struct ExpiryOption {
  std::optional<ExpiryUnit> unit{};
  Bytes number{};

  /// Takes the option at `at`, which is then at its number. False: there is none that may stand here.
  bool take(std::span<const Bytes> arguments, size_t &at);
};

/// Milliseconds since 1970; a time that has passed is one all the same. Returns false after answering an error:
/// `number` is none that `unit` can have. `any`: 0 and less are taken, too.
bool read_expiry(Call &call, ExpiryUnit unit, Bytes number, int64_t &expires_ms, bool any = false);
/// The same, but returns the error in place of answering it. Empty: there is none. In the arena.
Bytes expiry_error(Call &call, ExpiryUnit unit, Bytes number, int64_t &expires_ms, bool any = false);

}  // namespace postern::redis
