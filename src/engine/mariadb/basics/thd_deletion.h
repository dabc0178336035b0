// thd_deletion.h: delete_thd(), which deletes a THD that other threads could find.
#pragma once

class THD;

namespace postern::mariadb {

/// Deletes a THD that no thread can find any more (unlinked). The calling thread is attached to it or to no THD.
///
/// SHOW EXPLAIN FOR and SHOW ANALYZE FOR wait on the mutex of their target session (LOCK_thd_kill), which answers at
/// the end of its statement at the latest, but does not wait until they have woken up: if the session is killed and its
/// THD deleted at once, they lock a destroyed mutex, and the server crashes. Threads of the server's own port are
/// rarely so quick, since they keep their THD for the next client; with thread_cache_size=0 the port crashes, too. So
/// this waits for them, for as long as a thread takes to wake up.
void delete_thd(THD *thd);

}  // namespace postern::mariadb
