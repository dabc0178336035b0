#include "engine/mariadb/server.h"

// In this order, and without what a plugin sees of the service: then the server's own declarations can be had.
#include <mysql/service_wsrep.h>
#undef wsrep_xid_seqno
#undef wsrep_xid_uuid
#include <wsrep_mysqld.h>

#include "engine/mariadb/cluster.h"

namespace postern::mariadb {

bool cluster_refuses_reads(THD *thd) {
  return WSREP(thd) && !thd->variables.wsrep_dirty_reads &&
         (!wsrep_ready_get() || wsrep_reject_queries != WSREP_REJECT_NONE);
}

bool cluster_certifies_writes() {
  return WSREP_ON_ && WSREP_PROVIDER_EXISTS_;
}

}  // namespace postern::mariadb
