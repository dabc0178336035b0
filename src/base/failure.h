// failure.h: why a request was refused. The rows are in failure.def.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace postern {

enum class Failure : uint8_t {
  none,
#define FAILURE(name, text) name,
#include "base/failure.def"
#undef FAILURE
};

inline constexpr size_t failure_count = 0
#define FAILURE(name, text) +1
#include "base/failure.def"
#undef FAILURE
                                        + 1;

/// The name as it appears in status variables: lower case, underscores.
constexpr Bytes failure_name(Failure failure) {
  switch (failure) {
    case Failure::none: return "none";
#define FAILURE(name, text) \
  case Failure::name:       \
    return #name;
#include "base/failure.def"
#undef FAILURE
  }
  return "none";
}

/// A sentence for people.
constexpr Bytes failure_text(Failure failure) {
  switch (failure) {
    case Failure::none: return "";
#define FAILURE(name, text) \
  case Failure::name:       \
    return text;
#include "base/failure.def"
#undef FAILURE
  }
  return "";
}

}  // namespace postern
