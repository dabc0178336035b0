#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/thd/home_thd.h"

#include <atomic>

#include "engine/mariadb/basics/thread.h"

namespace postern::mariadb {

AtHome::AtHome(THD *home) {
  attachment_.to(home, my_thread_var);
}

HomeThd::~HomeThd() {
  if (thd_ == nullptr) return;
  const AtHome at_home(thd_);
  thd_->mdl_context.release_transactional_locks(thd_);
  lex_end(thd_->lex);
  delete thd_;
}

/// Others that wait until all tables of an outdated definition are closed look for deadlocks, and so at the THD of
/// every open table: TABLE_SHARE::visit_subgraph(). They use it without a lock. The server, too, closes such a table
/// only after they have looked, and so does not free the THD before.
void end_loan(TABLE &table, THD *home) {
  table.in_use = home;
  // They begin only after the definition is outdated. Then either that is seen here, or they see the new THD.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  TDC_element &definition = *table.s->tdc;
  if (!definition.flushed) return;
  mysql_mutex_lock(&definition.LOCK_table_share);
  while (definition.all_tables_refs != 0) mysql_cond_wait(&definition.COND_release, &definition.LOCK_table_share);
  mysql_mutex_unlock(&definition.LOCK_table_share);
}

bool HomeThd::make() {
  const Attachment attachment;
  if (!ServerThread::has_room_to_renew()) return false;
  THD *const thd = new THD(next_thread_id());
  char here = 0;
  thd->thread_stack = &here;
  thd->store_globals();
  thd->system_thread = SYSTEM_THREAD_GENERIC;
  thd->set_command(COM_DAEMON);
  thd->set_time();
  thd->main_security_ctx.host_or_ip = "";
  thd->main_security_ctx.set_user(const_cast<char *>("postern"));
  thd->main_security_ctx.skip_grants();
  thd->init_for_queries();
  lex_start(thd);
  thd->reset_for_next_command();
  thd_ = thd;
  return true;
}

}  // namespace postern::mariadb
