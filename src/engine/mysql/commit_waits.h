// commit_waits.h: what this server's commits may wait for.
#pragma once

class THD;

namespace postern::mysqld {

/// MySQL's commits wait for other commits only if binlog_group_commit_sync_delay is set, and then all do.
inline void wait_for_no_company(THD *) {}

}  // namespace postern::mysqld
