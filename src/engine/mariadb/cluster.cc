#include "engine/mariadb/server.h"

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
