// housekeeping.h: frequent commands that touch no row and cannot wait, so that the server's own code may run them on a
// worker.
//
// PING, BEGIN, COMMIT and ROLLBACK without writes, COMMIT of a worker's writes (CommitInTurn), savepoints, the SETs of
// drivers, SELECT of variables, of the session's state and of locks, USE, SHOW WARNINGS, and the end of prepared
// statements. engine/sql/texts/housekeeping classifies the texts; housekeeping.cc says why each cannot wait, and when
// it could. The server makes every answer (HostedSession::run_in_turn), so nothing has to be kept identical.
#pragma once

#include "base/bytes.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/commit_in_turn.h"
#include "engine/sql/texts/recent_housekeeping.h"

class MDL_request;
class MDL_ticket;
class THD;
struct st_my_thread_var;

namespace postern::mariadb {

/// Holds a metadata lock in advance, so that a statement that requests it again gets it at once. For the session's
/// owner, in an idle session or one that serves that statement.
class LockAhead {
 public:
  LockAhead(THD *thd, st_my_thread_var *mysys) : thd_(thd), mysys_(mysys) {}
  ~LockAhead();
  LockAhead(const LockAhead &) = delete;
  LockAhead &operator=(const LockAhead &) = delete;

  // Called once. False: it would have to wait.

  /// Takes the lock of GET_LOCK; `name`: in ASCII.
  bool take_named(Bytes name);
  /// Takes the commit lock, which FLUSH TABLES WITH READ LOCK and stages of BACKUP block.
  bool take_of_commit();

 private:
  bool take(MDL_request &request);

  THD *const thd_;
  st_my_thread_var *const mysys_;
  MDL_ticket *ticket_ = nullptr;
};

/// Whether the command, whose packet is complete, can be served without waiting in the session's present state,
/// while `lock` lives; for a COMMIT of changed rows, after CommitInTurn::begin(). For the session's owner; waits for no
/// lock.
bool is_housekeeping(THD *thd, const Statement &command, sql::RecentHousekeeping &recent, CommitInTurn &commit,
                     LockAhead &lock);
/// Whether the session can be ended without waiting.
bool ends_without_waiting(THD *thd);

}  // namespace postern::mariadb
