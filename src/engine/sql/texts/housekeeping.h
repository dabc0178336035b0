// housekeeping.h: texts of SQL that applications say between their statements, and that touch no table: which of them a
// text is. What follows from it, and in which sessions, is the engine's to say.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace postern::sql {

enum class Housekeeping : uint8_t {
  none,            ///< anything else, or too long
  begin,           ///< BEGIN, START TRANSACTION: ends the transaction before
  commit,          ///< COMMIT, without CHAIN and RELEASE
  roll_back,       ///< ROLLBACK likewise
  savepoint,       ///< SAVEPOINT, RELEASE SAVEPOINT
  set,             ///< SET of the session's variables that drivers set, of user variables, SET TRANSACTION
  set_autocommit,  ///< the same, and autocommit is among them: ends the transaction before
  evaluate,        ///< SELECT or DO of constants, variables, and functions that only read the session
  use,             ///< USE
  warnings,        ///< SHOW WARNINGS, SHOW ERRORS
  lock,            ///< GET_LOCK, first of all, which waits where another session has the lock: lock_asked_by()
};

/// No text of more bytes is looked at.
constexpr size_t housekeeping_bytes_max = 2048;

/// The kind of a text that the server's parser would take for one statement. A text that it would refuse may be any of
/// them. Comments are skipped, but for those that the server executes. Pure; takes no memory.
Housekeeping housekeeping_of(Bytes text);

/// The name of the lock that such a text asks for, whatever else it does; empty: it is none.
Bytes lock_asked_by(Bytes text);

}  // namespace postern::sql
