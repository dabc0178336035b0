// refusal.h: Reason, why a line is refused. The rows of this protocol's own refusals are in refusal.def.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/failure.h"
#include "base/tally.h"

namespace postern::handlersocket {

enum class Refusal : uint8_t {
  none,
#define REFUSAL(name, code, word, text) name,
#include "handlersocket/refusal.def"
#undef REFUSAL
};

inline constexpr size_t refusal_count = 0
#define REFUSAL(name, code, word, text) +1
#include "handlersocket/refusal.def"
#undef REFUSAL
                                        + 1;

/// A failure that other protocols know, too, or, if that is Failure::refused, a refusal of this one. Converts from
/// both.
struct Reason {
  constexpr Reason(Failure why) : failure(why) {}
  constexpr Reason(Refusal why) : failure(Failure::refused), refusal(why) {}

  bool is_none() const { return failure == Failure::none; }

  Failure failure;
  Refusal refusal = Refusal::none;
};

/// Counts the refusals of all sessions of a protocol.
using Refusals = ThreadTallies<Refusal>;

}  // namespace postern::handlersocket

namespace postern {

template <>
inline constexpr size_t row_count<handlersocket::Refusal> = handlersocket::refusal_count;

}  // namespace postern
