// row_locks.h: SELECTs that lock the rows that they find: FOR UPDATE and LOCK IN SHARE MODE.
//
// A worker never waits for a row, so WAIT and NOWAIT do not matter to it: a statement that meets a locked row is the
// server's, which locks the rows before that once more. With SKIP LOCKED the storage engine passes it over.
#pragma once

#include "engine/mariadb/basics/server.h"
#include "engine/mariadb/hosted/reads/read_form.h"

namespace postern::mariadb {

FormLock lock_in(const SELECT_LEX &select);

/// Whether a statement sets for itself how long it waits for locks, and nothing else; or nothing at all.
bool sets_waits_alone(List<set_var_base> &variables);

/// For the server's lock functions.
thr_lock_type thr_lock_of(FormLock lock, bool skips_locked);

/// Whether rows may be locked in the session, without waiting and without an end of its transaction.
bool may_lock_rows(const THD *thd);

}  // namespace postern::mariadb
