#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/kept_thds.h"

#include <array>
#include <mutex>

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/thd_deletion.h"
#include "engine/mariadb/basics/attachment.h"

namespace postern::mariadb {
namespace {

constexpr size_t kept_max = 32;

std::mutex kept_mutex;  // guards what follows; a leaf
std::array<KeptThd, kept_max> kept;
size_t kept_count = 0;

/// What THD::reset_for_reuse() leaves, as the constructor sets it.
void forget_the_last_one(THD *thd) {
  thd->statement_id_counter = 0;
  thd->limit_found_rows = 0;
  thd->set_row_count_func(-1);
  thd->set_sent_row_count(0);
  thd->cuted_fields = 0;
  thd->db_charset = global_system_variables.collation_database;
  thd->password = 0;
  thd->query_id = 0;
  thd->file_id = 0;
  thd->tmp_table = 0;
  thd->used = 0;
  thd->skip_wait_timeout = false;
  thd->count_cuted_fields = CHECK_FIELD_IGNORE;
  thd->start_utime = thd->utime_after_query = 0;
  thd->utime_after_lock = 0;
  thd->enable_slow_log = 0;
  thd->col_access = NO_ACL;
  thd->org_charset = nullptr;
  thd->substitute_null_with_insert_id = false;
  thd->binlog_unsafe_warning_flags = 0;
  thd->security_ctx = &thd->main_security_ctx;
  thd->user_connect = nullptr;
  thd->proc_info = "login";
  thd->lex->current_select = nullptr;
  *thd->scramble = '\0';
}

}  // namespace

bool keep_thd(const KeptThd &ended) {
  THD *const thd = ended.thd;
  if (WSREP_ON_ || is_client_of_cluster(thd) || thd->get_psi() != nullptr || thd->is_fatal_error) return false;
  const std::lock_guard guard(kept_mutex);
  if (kept_count == kept_max || abort_loop) return false;
  kept[kept_count++] = ended;
  return true;
}

KeptThd take_kept_thd() {
  const std::lock_guard guard(kept_mutex);
  return kept_count != 0 ? kept[--kept_count] : KeptThd{};
}

THD *create_thd_again(CONNECT &connect, THD *thd) {
  if (connect.create_thd(thd) == nullptr) {
    delete_thd(thd);
    return nullptr;
  }
  forget_the_last_one(thd);
  thd->mysys_var->abort = 0;
  return thd;
}

void drop_kept_thds() {
  for (KeptThd one = take_kept_thd(); one.thd != nullptr; one = take_kept_thd()) {
    const Attachment attachment;
    set_mysys_var(one.mysys);
    delete_thd(one.thd);
    my_thread_end();
  }
}

}  // namespace postern::mariadb
