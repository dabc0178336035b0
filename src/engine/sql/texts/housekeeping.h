// housekeeping.h: classifies SQL texts that applications send between their statements and that touch no table. The
// engine decides how to answer them, and in which sessions.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace postern::sql {

enum class Housekeeping : uint8_t {
  none,            ///< anything else, or too long
  begin,           ///< BEGIN, START TRANSACTION: ends the previous transaction
  commit,          ///< COMMIT, without CHAIN and RELEASE
  roll_back,       ///< ROLLBACK likewise
  savepoint,       ///< SAVEPOINT, RELEASE SAVEPOINT
  set,             ///< SET of session variables that drivers set, of user variables, SET TRANSACTION
  set_autocommit,  ///< the same with autocommit among them: ends the previous transaction
  evaluate,        ///< SELECT or DO of constants, variables, and functions that only read the session
  use,             ///< USE
  warnings,        ///< SHOW WARNINGS, SHOW ERRORS
  lock,            ///< GET_LOCK as the first expression, which waits if another session has the lock
};

/// Longer texts are not examined.
constexpr size_t housekeeping_bytes_max = 2048;

/// The kind of a text that the server's parser accepts as one statement. A text that it refuses may have any kind.
/// Comments are skipped, except those that the server executes. Pure; allocates nothing.
Housekeeping housekeeping_of(Bytes text);

/// The same; `lock` becomes the name of the lock that a text of kind `lock` asks for.
Housekeeping housekeeping_of(Bytes text, Bytes &lock);

}  // namespace postern::sql
