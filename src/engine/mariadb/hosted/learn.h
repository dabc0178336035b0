// learn.h: learns from a statement that the server has served: a plan for its form, or the reason that there is none;
// and completes an existing plan.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "contract/server_session.h"

class THD;

namespace postern::mariadb {

class PreparedStatements;

/// Whether anything is learnt from the server's answer to the command. Otherwise it need not be captured.
bool wants_answer(const Statement &statement);

/// Called on the thread that is attached to the session. `answer`: the server's bytes, before TLS; empty if too long to
/// keep. `version`: StatementPlan::version() of the statement's plan before that.
Learnt learn(THD *thd, PreparedStatements &prepared, const Statement &statement, Bytes answer, uint64_t version,
             uint64_t rows_read);

}  // namespace postern::mariadb
