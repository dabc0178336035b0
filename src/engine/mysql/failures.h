// failures.h: maps errors of the server and of storage engines to failures.
#pragma once

#include "base/failure.h"
#include "engine/sql/attempt.h"

class THD;
struct TABLE;

namespace postern::mysqld {

using sql::nothing_said;
using sql::ServerError;

/// Not used on MySQL: see cluster.h.
inline const ServerError node_not_ready{};

/// The error in the diagnostics area, or none. Clears it.
ServerError take_server_error(THD *thd);

/// A failed open, by the error in the diagnostics area, which stays there.
Failure open_failure(THD *thd);
/// Whether the failed open met a lock of another session: try again later.
bool open_found_busy(THD *thd);

/// Whether the transaction has made a change that cannot be rolled back.
bool cannot_be_undone(THD *thd);

/// A storage engine's return code, not 0, as a failure; `error` becomes the server's error for it.
Failure engine_failure(THD *thd, TABLE *table, int code, ServerError &error);

}  // namespace postern::mysqld
