// sql_error.h: SqlError, an error as a client of SQL gets it, and the one for each Failure.
#pragma once

#include <cstdint>

#include "base/failure.h"

namespace postern {

/// An error number and the SQLSTATE that goes with it.
struct SqlError {
  uint16_t number = 0;  ///< 0: none
  char state[6] = "";   ///< five characters and a zero
};
static_assert(sizeof(SqlError) == 8);

/// The SQL error for a failure, or the closest one. For failures without an error from the server.
constexpr SqlError sql_error_of(Failure failure) {
  switch (failure) {
    case Failure::none: return {};
    case Failure::refused: return {1064, "42000"};
#define FAILURE(name, kind, number, state, text) \
  case Failure::name:                            \
    return {number, state};
#include "base/failure.def"
#undef FAILURE
  }
  return {1105, "HY000"};
}

}  // namespace postern
