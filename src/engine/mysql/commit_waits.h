// commit_waits.h: what commits of this server may have to wait for.
#pragma once

class THD;

namespace postern::mysqld {

/// MySQL's commits wait for company only where binlog_group_commit_sync_delay says so, and then all do.
inline void wait_for_no_company(THD *) {}

}  // namespace postern::mysqld
