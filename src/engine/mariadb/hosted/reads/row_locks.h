// row_locks.h: SELECTs that lock their rows: FOR UPDATE and LOCK IN SHARE MODE.
//
// A worker never waits for a row, so WAIT and NOWAIT do not matter to it: a statement that meets a locked row is left
// to the server, which locks the earlier rows once more. With SKIP LOCKED the storage engine skips it.
#pragma once

#include "engine/mariadb/basics/server.h"
#include "engine/mariadb/hosted/reads/read_form.h"

namespace postern::mariadb {

FormLock lock_in(const SELECT_LEX &select);

/// Whether a statement sets no variables for itself except the timeout of lock waits.
bool sets_waits_alone(List<set_var_base> &variables);

/// For the server's lock functions.
inline thr_lock_type thr_lock_of(FormLock lock, bool skips_locked) {
  switch (lock) {
    case FormLock::none: return TL_READ;
    case FormLock::share: return skips_locked ? TL_READ_SKIP_LOCKED : TL_READ_WITH_SHARED_LOCKS;
    case FormLock::update: return skips_locked ? TL_WRITE_SKIP_LOCKED : TL_WRITE;
  }
  return TL_READ;
}

/// Whether rows may be locked in the session without waiting and without ending its transaction.
bool may_lock_rows(const THD *thd);

}  // namespace postern::mariadb
