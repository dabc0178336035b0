// learn.h: learning from a statement that the server has served: a plan for its form, or why there is none; and for a
// plan that is there, the rest that it needs.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "contract/server_session.h"

class THD;

namespace postern::mariadb {

class PreparedStatements;

/// On the thread that is attached to the session. `answer`: the server's, as on the wire but for TLS; empty if it was
/// too long to keep. `version`: StatementPlan::version() of the statement's plan before that.
Learnt learn(THD *thd, PreparedStatements &prepared, const Statement &statement, Bytes answer, uint64_t version,
             uint64_t rows_read);

}  // namespace postern::mariadb
