// statement_end.h: writes the server's own end of an answer, OK or error, from the session's diagnostics area.
//
// For the thread that the session's THD is attached to (attachment.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/output.h"

class THD;
struct TABLE;

namespace postern::mariadb {

class SessionStatement;

/// Sets the error after the storage engine has rolled back the session's transaction. `table`: where it happened;
/// nullptr if none was open. `code`: the storage engine's. `twice`: like UPDATE and DELETE that were still looking for
/// their row.
void tell_lost(THD *thd, TABLE *table, int code, bool twice = false);

/// Writes the session's OK or error at the end of its statement, as the server sends it. `number`: the packet's.
void send_end(THD *thd, Output &output, uint8_t number = 1);

/// The same after a row lock has cost the session its transaction: sends the server's error for that.
void send_lost(THD *thd, SessionStatement &statement, size_t bytes_received, Output &output);

}  // namespace postern::mariadb
