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

/// The next commit of `thd` goes to the binary log at once, with those that wait there (binlog_commit_wait_count): it
/// commits for many clients, which will not write again until they are answered.
void wait_for_no_company(THD *thd);

}  // namespace postern::mariadb
