// housekeeping.h: commands that are part of every conversation and touch no row, for which the server's own code may
// run on a worker, since it cannot wait there.
//
// PING, BEGIN, COMMIT and ROLLBACK without writes, COMMIT of a worker's writes (CommitInTurn), savepoints, the
// SETs of drivers, SELECT of variables, of the session's state and of locks, USE, SHOW WARNINGS, and the end of
// prepared statements. engine/sql/housekeeping knows the texts; housekeeping.cc says why each cannot wait, and where it
// could. No answer is made here: the server does it all (HostedSession::run_in_turn), so that nothing has to be kept
// identical.
#pragma once

#include "base/bytes.h"
#include "engine/mariadb/hosted/commit_in_turn.h"

class MDL_request;
class MDL_ticket;
class THD;
struct st_my_thread_var;

namespace postern::mariadb {

/// A metadata lock that a statement will ask for, and gets at once, as one more time, while this lives. For the
/// session's owner, in a session that rests or serves that statement.
class LockAhead {
 public:
  LockAhead(THD *thd, st_my_thread_var *mysys) : thd_(thd), mysys_(mysys) {}
  ~LockAhead();
  LockAhead(const LockAhead &) = delete;
  LockAhead &operator=(const LockAhead &) = delete;

  // Once. False: it would have to be waited for.

  /// That of GET_LOCK; `name`: in ASCII.
  bool take_named(Bytes name);
  /// That of a commit, which FLUSH TABLES WITH READ LOCK and stages of BACKUP keep from others.
  bool take_of_commit();

 private:
  bool take(MDL_request &request);

  THD *const thd_;
  st_my_thread_var *const mysys_;
  MDL_ticket *ticket_ = nullptr;
};

/// Whether the command in `packet`, which is there as a whole, can be served without waiting in the session as it is
/// now, while `lock` lives; a COMMIT of changed rows after CommitInTurn::begin(). Only for the session's owner; waits
/// for no lock.
bool is_housekeeping(THD *thd, Bytes packet, CommitInTurn &commit, LockAhead &lock);
/// Whether the session can be ended so.
bool ends_without_waiting(THD *thd);

}  // namespace postern::mariadb
