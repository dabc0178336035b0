// failure.h: why a request failed. The rows are in failure.def.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace postern {

enum class Failure : uint8_t {
  none,
  refused,  ///< by the protocol alone: the reply knows why, answers and counts it
#define FAILURE(name, kind, number, state, text) name,
#include "base/failure.def"
#undef FAILURE
};

/// The kind of a failure. Protocols switch on it, so they can answer failures that are added later.
enum class FailureKind : uint8_t {
  request,   ///< the request itself: malformed, or not supported here
  access,    ///< the client's identity, or how it connects
  schema,    ///< the table, index or columns do not exist, or do not suit the request
  value,     ///< a value does not fit its column
  conflict,  ///< existing rows, or constraints of the table, forbid the change
  limit,     ///< more than a limit allows
  busy,      ///< not now: the same request may succeed later
  server,    ///< the server cannot, or something is broken
};

inline constexpr size_t failure_count = 0
#define FAILURE(name, kind, number, state, text) +1
#include "base/failure.def"
#undef FAILURE
                                        + 2;

/// The name as it appears in status variables: lower case, underscores.
constexpr Bytes failure_name(Failure failure) {
  switch (failure) {
    case Failure::none: return "none";
    case Failure::refused: return "refused";
#define FAILURE(name, kind, number, state, text) \
  case Failure::name:                            \
    return #name;
#include "base/failure.def"
#undef FAILURE
  }
  return "none";
}

/// Undefined for Failure::none.
constexpr FailureKind kind_of(Failure failure) {
  switch (failure) {
    case Failure::none:
    case Failure::refused: return FailureKind::request;
#define FAILURE(name, kind, number, state, text) \
  case Failure::name:                            \
    return FailureKind::kind;
#include "base/failure.def"
#undef FAILURE
  }
  return FailureKind::server;
}

/// A sentence for people.
constexpr Bytes failure_text(Failure failure) {
  switch (failure) {
    case Failure::none: return "";
    case Failure::refused: return "Refused";
#define FAILURE(name, kind, number, state, text) \
  case Failure::name:                            \
    return text;
#include "base/failure.def"
#undef FAILURE
  }
  return "";
}

}  // namespace postern
