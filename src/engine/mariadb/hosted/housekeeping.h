// housekeeping.h: commands that are part of every conversation and touch no row, for which the server's own code may
// run on a worker, since it cannot wait there.
//
// PING, BEGIN, COMMIT and ROLLBACK without writes, savepoints, the SETs of drivers, SELECT of variables, of the
// session's state and of locks, USE, SHOW WARNINGS, and the end of prepared statements. engine/sql/housekeeping knows
// the texts; housekeeping.cc says why each cannot wait, and where it could. No answer is made here: the server does it
// all (HostedSession::run_in_turn), so that nothing has to be kept identical.
#pragma once

#include "base/bytes.h"

class MDL_ticket;
class THD;
struct st_my_thread_var;

namespace postern::mariadb {

/// A lock of GET_LOCK that no other session has: until this dies the session has it, so that a statement which asks for
/// it gets it at once, as one more time. For the session's owner, in a session that rests or serves that statement.
class FreeLock {
 public:
  FreeLock(THD *thd, st_my_thread_var *mysys) : thd_(thd), mysys_(mysys) {}
  ~FreeLock();
  FreeLock(const FreeLock &) = delete;
  FreeLock &operator=(const FreeLock &) = delete;

  /// `name`: in ASCII. False: another session has it.
  bool take(Bytes name);

 private:
  THD *const thd_;
  st_my_thread_var *const mysys_;
  MDL_ticket *ticket_ = nullptr;
};

/// Whether the command in `packet`, which is there as a whole, can be served without waiting in the session as it is
/// now, while `lock` lives. Only for the session's owner; waits for no lock.
bool is_housekeeping(THD *thd, Bytes packet, FreeLock &lock);
/// Whether the session can be ended so.
bool ends_without_waiting(THD *thd);

}  // namespace postern::mariadb
