// kept_thds.h: THDs of sessions that ended on a worker's thread, kept for new sessions on one.
//
// Making a THD costs as much as verifying a client, so the server's own threads reuse theirs, too (CONNECT::create_thd,
// THD::reset_for_reuse). All state in one that a client could see is reset here: a session sees nothing of the previous
// one. None is kept on a Galera node, which knows a THD by its first session's number, nor with performance_schema.
//
// All threads share them, under a mutex of their own. The server waits for all THDs before it shuts down, so a worker
// that ends drops them, and none is kept from then on.
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

/// Keeps a THD. False: the caller still owns it.
bool keep_thd(const KeptThd &ended);
/// Takes the THD that was kept last, or nullptrs.
KeptThd take_kept_thd();
/// Like CONNECT::create_thd(), for a taken THD; the thread uses its mysys variable. nullptr: failed, and the THD is
/// deleted.
THD *create_thd_again(CONNECT &connect, THD *thd);
/// Deletes all kept THDs. The calling thread keeps its own.
void drop_kept_thds();

}  // namespace postern::mariadb
