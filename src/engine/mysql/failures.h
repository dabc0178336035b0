// failures.h: the server's and the storage engines' errors in our terms.
#pragma once

#include "base/failure.h"
#include "engine/sql/attempt.h"

class THD;
struct TABLE;

namespace postern::mysqld {

using sql::nothing_said;
using sql::ServerError;

/// Of no use here: see cluster.h.
inline const ServerError node_not_ready{};

/// The error in the diagnostics area, or nothing. Clears it.
ServerError take_server_error(THD *thd);

/// A failed open: by the error in the diagnostics area, which stays there.
Failure open_failure(THD *thd);
/// The failed open met a lock that others hold: try again later.
bool open_found_busy(THD *thd);

/// Whether the transaction has changed a row that a rollback does not bring back.
bool cannot_be_undone(THD *thd);

/// A storage engine's return code, not 0, as a failure; `error` becomes the server's error for it.
Failure engine_failure(THD *thd, TABLE *table, int code, ServerError &error);

}  // namespace postern::mysqld
