// failures.h: the server's and the storage engines' errors in our terms.
#pragma once

#include <string>

#include "base/failure.h"

class THD;
struct TABLE;

namespace postern::mariadb {

/// What the diagnostics area says, or empty. Clears it.
std::string take_server_message(THD *thd);

/// A failed open: by the error in the diagnostics area, which stays there.
Failure open_failure(THD *thd);
/// The failed open met a lock that others hold: try again later.
bool open_found_busy(THD *thd);

/// The running statement has changed a table without transactions, itself or by a trigger: run again it would do so
/// twice.
bool cannot_be_undone(THD *thd);

/// A storage engine's return code, not 0, as a failure; `message` becomes the server's words for it.
Failure engine_failure(THD *thd, TABLE *table, int code, std::string &message);

}  // namespace postern::mariadb
