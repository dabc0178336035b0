// kept_thds.h: THDs of sessions that have ended on a worker's thread, kept for those that begin on one.
//
// Making a THD costs as much as verifying a client, so the server's own threads use theirs again, too
// (CONNECT::create_thd, THD::reset_for_reuse). Everything that the server leaves in one, and a client could see, is put
// back here: a session finds nothing of the one before it. Neither of a Galera node, which knows a THD by the number of
// its first session, nor with performance_schema is one kept.
//
// All threads share them, under a mutex of their own. The server waits for all THDs before it goes down, and so a
// worker that leaves drops them, and none is kept from then on.
#pragma once

class CONNECT;
class THD;
struct st_my_thread_var;

namespace postern::mariadb {

/// A THD that is unlinked, and its mysys variable.
struct KeptThd {
  THD *thd = nullptr;
  st_my_thread_var *mysys = nullptr;
};

/// False: it is still the caller's.
bool keep_thd(const KeptThd &ended);
/// The one that was kept last, or nullptrs.
KeptThd take_kept_thd();
/// As CONNECT::create_thd(), of one that was taken, as whose mysys variable the thread acts. nullptr: it has failed,
/// and that one is deleted.
THD *create_thd_again(CONNECT &connect, THD *thd);
/// Deletes all that are kept. The calling thread's identity stays.
void drop_kept_thds();

}  // namespace postern::mariadb
