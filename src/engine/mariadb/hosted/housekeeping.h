// housekeeping.h: commands that are part of every conversation and touch no row, for which the server's own code may
// run on a worker, since it cannot wait there.
//
// PING, BEGIN, COMMIT and ROLLBACK without writes, savepoints, the SETs of drivers, SELECT of variables, of the
// session's state and of locks, USE, SHOW WARNINGS, and the end of prepared statements. engine/sql/housekeeping knows
// the texts; housekeeping.cc says why each cannot wait, and where it could. No answer is made here: the server does it
// all (HostedSession::run_in_turn), so that nothing has to be kept identical.
#pragma once

#include "base/bytes.h"

class THD;

namespace postern::mariadb {

/// Whether the command in `packet`, which is there as a whole, can be served without waiting in the session as it is
/// now. Only for the session's owner; asks nothing that takes a lock.
bool is_housekeeping(THD *thd, Bytes packet);
/// Whether the session can be ended so.
bool ends_without_waiting(THD *thd);

}  // namespace postern::mariadb
