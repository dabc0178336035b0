#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/thd/attachment.h"
#include "engine/mariadb/basics/bound_thread.h"
#include "engine/mariadb/basics/cluster.h"

namespace postern::mariadb {
Attachment::Attachment() : thd_(current_thd), psi_(PSI_CALL_get_thread()), mysys_(my_thread_var) {}

Attachment::~Attachment() {
  PSI_CALL_set_thread(psi_);
  set_mysys_var(mysys_);
  set_current_thd(thd_);
}

void Attachment::to(THD *thd, st_my_thread_var *mysys) {
  wait_for_rollback(thd);
  set_mysys_var(mysys);
  // Where each connection has a thread of its own the server expects that one to take its THD back by itself.
  if (thd->mysys_var != mysys) thd->store_globals();
  set_current_thd(thd);
  note_thread(thd);
  PSI_CALL_set_thread(thd->get_psi());
}

}  // namespace postern::mariadb
