#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/thd/not_now.h"

#include <atomic>

namespace postern::mariadb {
namespace {

constexpr size_t reasons = static_cast<size_t>(NotNow::count);
std::atomic<uint64_t> counts[reasons];

/// Microseconds. A worker takes longer only if the disk delays it, and then logs it as slow; a lower limit is meant to
/// log every statement.
constexpr ulonglong long_query_us_min = 50'000;

/// The observers of every command of the session, whatever it is.
std::optional<NotNow> watched(THD *thd) {
  if (opt_log && !(thd->variables.option_bits & OPTION_LOG_OFF)) return NotNow::general_log;
  if (mysql_global_audit_mask[0] & (MYSQL_AUDIT_GENERAL_CLASSMASK | MYSQL_AUDIT_TABLE_CLASSMASK)) return NotNow::audit;
  if (thd->get_psi() != nullptr) return NotNow::performance_schema;
  if (opt_userstat_running) return NotNow::user_statistics;
  if (thd->variables.option_bits & OPTION_PROFILING) return NotNow::profiling;
  if (compat::slow_query_us(thd) < long_query_us_min) return NotNow::slow_log;
  if (mqh_used && thd->user_connect != nullptr) return NotNow::account_limits;
  return std::nullopt;
}

bool holds_locks(THD *thd) {
  return thd->locked_tables_mode != LTM_NONE || thd->global_read_lock.is_acquired() ||
         thd->handler_tables_hash.records != 0 || thd->mdl_backup_lock != nullptr ||
         thd->current_backup_stage != BACKUP_FINISHED;
}

/// A read would first write what these have gathered.
bool bulk_insert_may_wait(THD *thd) {
  constexpr ulonglong relaxed = OPTION_NO_FOREIGN_KEY_CHECKS | OPTION_RELAXED_UNIQUE_CHECKS;
  return (thd->variables.option_bits & relaxed) == relaxed && thd->in_active_multi_stmt_transaction();
}

/// With sql_auto_is_null the server takes the next `id IS NULL` for `id = LAST_INSERT_ID()`, once after each id that it
/// has generated.
bool null_may_be_last_id(const THD *thd) {
  return (thd->variables.option_bits & OPTION_AUTO_IS_NULL) != 0 && thd->substitute_null_with_insert_id &&
         thd->first_successful_insert_id_in_prev_stmt != 0;
}

}  // namespace

void count(NotNow why) {
  counts[static_cast<size_t>(why)].fetch_add(1, std::memory_order_relaxed);
}

std::array<uint64_t, reasons> counted_reasons() {
  std::array<uint64_t, reasons> all;
  for (size_t i = 0; i < reasons; ++i) all[i] = counts[i].load(std::memory_order_relaxed);
  return all;
}

std::optional<NotNow> housekeeping_allows(THD *thd) {
  if (cluster_keeps_from_reading(thd)) return NotNow::galera;
  if (thd->killed != NOT_KILLED) return NotNow::killed;
  if (thd->security_ctx->password_expired) return NotNow::password_expired;
  if (thd->transaction->xid_state.is_explicit_XA()) return NotNow::xa_transaction;
  if (holds_locks(thd)) return NotNow::lock_tables;
  return watched(thd);
}

std::optional<NotNow> session_allows(THD *thd) {
  if (const auto why = housekeeping_allows(thd)) return why;
  const system_variables &variables = thd->variables;
  if (thd->tx_isolation == ISO_SERIALIZABLE && thd->in_multi_stmt_transaction_mode()) return NotNow::serializable;
  if (thd->has_thd_temporary_tables()) return NotNow::temporary_table;
  if (bulk_insert_may_wait(thd)) return NotNow::bulk_insert;
  if (null_may_be_last_id(thd)) return NotNow::auto_is_null;
  // A value of a form would be NULL in one execution, and a text in the next.
  if (variables.sql_mode & MODE_EMPTY_STRING_IS_NULL) return NotNow::empty_is_null;
  if (variables.select_limit != HA_POS_ERROR) return NotNow::select_limit;
  // A temporary table describes its columns in another way.
  if (variables.option_bits & OPTION_BUFFER_RESULT) return NotNow::buffer_result;
  if (variables.vers_asof_timestamp.type != SYSTEM_TIME_UNSPECIFIED) return NotNow::as_of;
  if (variables.max_statement_time != 0) return NotNow::statement_time;
  if (!(variables.option_bits & OPTION_BIG_SELECTS)) return NotNow::join_size;
  if (variables.query_cache_type != 0 && query_cache.query_cache_size != 0) return NotNow::query_cache;
  if (thd->session_tracker.transaction_info.is_enabled()) return NotNow::state_tracker;
  return std::nullopt;
}

std::optional<NotNow> session_writes(THD *thd) {
  // Other nodes certify it, which takes time.
  if (WSREP_ON_ || is_client_of_cluster(thd)) return NotNow::galera;
  const system_variables &own = thd->variables;
  constexpr ulonglong unchecked =
      OPTION_NO_FOREIGN_KEY_CHECKS | OPTION_RELAXED_UNIQUE_CHECKS | OPTION_NO_CHECK_CONSTRAINT_CHECKS;
  if (opt_readonly || own.tx_read_only || thd->tx_read_only) return NotNow::read_only;
  if (own.option_bits & unchecked) return NotNow::relaxed_checks;
  // The binary log's filters apply to the session's database with statement logging, and to the table's with row
  // logging.
  const bool filtered = binlog_filter->is_on() && own.binlog_format != BINLOG_FORMAT_ROW;
  if (own.binlog_format == BINLOG_FORMAT_STMT || filtered || thd->rgi_slave || thd->rgi_fake) return NotNow::binary_log;
  if (thd->auto_inc_intervals_forced.nb_elements() != 0) return NotNow::own_values;
  return std::nullopt;
}

std::optional<NotNow> session_shares(THD *thd) {
  const system_variables &own = thd->variables;
  const system_variables &global = global_system_variables;
  if (thd->in_multi_stmt_transaction_mode() || (thd->server_status & SERVER_STATUS_IN_TRANS) ||
      thd->tx_isolation != own.tx_isolation)
    return NotNow::own_isolation;
  if (!(own.option_bits & OPTION_BIN_LOG) || own.binlog_row_image != global.binlog_row_image ||
      own.gtid_domain_id != global.gtid_domain_id || own.server_id != global.server_id || own.gtid_seq_no != 0 ||
      (own.option_bits & (OPTION_SKIP_REPLICATION | OPTION_RPL_SKIP_PARALLEL)))
    return NotNow::binary_log;
  if (thd->user_time.val != 0 || own.auto_increment_increment != global.auto_increment_increment ||
      own.auto_increment_offset != global.auto_increment_offset)
    return NotNow::own_values;
  return std::nullopt;
}

}  // namespace postern::mariadb
