// commit_waits.h: what commits of this server may have to wait for.
#pragma once

class THD;

namespace postern::mariadb {

/// Finds the server's flush settings. On a thread of the server's, before commits_may_wait(), which returns true until
/// then.
void look_for_commit_waits();

/// Whether a commit may wait for more than the processor: for the binary log, and so for replicas, a full disk and
/// other commits, for other nodes, or for a flush. It may not where InnoDB alone commits and leaves the flush to its
/// own thread. Any thread.
bool commits_may_wait();

/// Whether commits, which may wait, wait for nothing but a flush of InnoDB's log, so that they can be made first and be
/// flushed later. Any thread.
bool commits_wait_for_flush_alone();

/// Makes a session's transaction, which InnoDB alone takes part in, as good as committed, but for the flush: the
/// session's COMMIT is to follow at once, and leaves InnoDB's log to flush_commits(). The thread is attached to it.
void commit_unflushed(THD *thd);

/// Waits until all that InnoDB has committed is on disk. False: nobody knows. On a thread of the server's.
bool flush_commits();

/// The next commit of `thd` goes to the binary log at once, with those that wait there (binlog_commit_wait_count): it
/// commits for many clients, which will not write again until they are answered.
void wait_for_no_company(THD *thd);

}  // namespace postern::mariadb
