// failures.h: maps errors of the server and of storage engines to failures.
#pragma once

#include "base/failure.h"
#include "engine/sql/attempt.h"

class THD;
struct TABLE;

namespace postern::mariadb {

using sql::nothing_said;
using sql::ServerError;

/// SQL's error for statements on a Galera node that is not ready.
inline const ServerError node_not_ready{"WSREP has not yet prepared node for application use"};

/// The error in the diagnostics area, or none. Clears it.
ServerError take_server_error(THD *thd);

/// A failed open, by the error in the diagnostics area, which stays there.
Failure open_failure(THD *thd);
/// Whether the failed open met a lock of another session: try again later.
bool open_found_busy(THD *thd);

/// Whether the running statement has changed a non-transactional table, itself or by a trigger: running it again would
/// repeat that.
bool cannot_be_undone(THD *thd);

/// A storage engine's return code, not 0, as a failure; `error` becomes the server's error for it.
Failure engine_failure(THD *thd, TABLE *table, int code, ServerError &error);

}  // namespace postern::mariadb
