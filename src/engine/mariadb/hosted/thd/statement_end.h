// statement_end.h: the server's own end of an answer, OK or error, as the session's diagnostics area has it.
//
// For the thread that the session's THD is attached to (attachment.h).
#pragma once

#include <cstdint>

#include "base/output.h"

class THD;
struct TABLE;

namespace postern::mariadb {

/// The storage engine has rolled back the session's transaction: sets the error. `table`: where it happened; nullptr if
/// none was open. `code`: the storage engine's. `twice`: as UPDATE and DELETE do where they were still looking for
/// their row.
void tell_lost(THD *thd, TABLE *table, int code, bool twice = false);

/// Writes the session's OK or error at the end of its statement, as the server sends it. `number`: the packet's.
void send_end(THD *thd, Output &output, uint8_t number = 1);

}  // namespace postern::mariadb
