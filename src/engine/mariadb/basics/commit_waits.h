// commit_waits.h: what this server's commits may wait for.
#pragma once

class THD;

namespace postern::mariadb {

/// Finds the server's flush settings. Called on a server thread, before commits_may_wait(), which returns true until
/// then.
void look_for_commit_waits();

/// Whether a commit may wait for more than the processor: for the binary log, and so for replicas, a full disk and
/// other commits; for other nodes; or for a flush. It does not if only InnoDB commits and leaves the flush to its own
/// thread. Any thread.
bool commits_may_wait();

/// The same for the commit of a transaction in which only InnoDB takes part. Any thread.
bool commits_of_innodb_may_wait();

/// Whether commits wait only for a flush of InnoDB's log, so that the commit and its flush can be separated. Any
/// thread.
bool commits_wait_for_flush_alone();

/// Commits a session's transaction, in which only InnoDB takes part, except for the flush: the session's COMMIT must
/// follow at once, and leaves InnoDB's log to flush_commits(). The thread is attached to the session.
void commit_unflushed(THD *thd);

/// Waits until all of InnoDB's commits are on disk. False: unknown. On a server thread.
bool flush_commits();

/// Makes the next commit of `thd` go to the binary log at once, without binlog_commit_wait_count: it commits for many
/// clients, which will not write again until they are answered.
void wait_for_no_company(THD *thd);

}  // namespace postern::mariadb
