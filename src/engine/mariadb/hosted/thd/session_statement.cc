#include "engine/mariadb/hosted/thd/session_statement.h"

#include <datadict.h>

#include <cstring>
#include <new>
#include <utility>

#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/thd/home_thd.h"

namespace postern::mariadb {
void close_and_unlock(THD *thd, const MDL_savepoint &locks_before) {
  close_thread_tables(thd);
  if (thd->in_active_multi_stmt_transaction()) thd->mdl_context.rollback_to_savepoint(locks_before);
  else thd->release_transactional_locks();
}

const size_t counted_status_bytes = offsetof(STATUS_VAR, max_local_memory_used);

SessionCommand::SessionCommand(THD *thd, enum_server_command command, uint64_t began_us) : thd_(thd) {
  thd->reset_for_next_command();
  thd->set_command(command);
  thd->query_plan_flags = QPLAN_INIT;
  thd->set_time();
  if (began_us != 0) thd->start_utime = began_us;
  thd->set_query_id(next_query_id());
  thd->get_stmt_da()->opt_clear_warning_info(thd->query_id);
}

void SessionCommand::end() {
  THD *const thd = std::exchange(thd_, nullptr);
  if (thd == nullptr) return;
  thd->lex->sql_command = SQLCOM_END;
  thd->cleanup_after_query();
  thd->reset_query();
  thd->set_command(COM_SLEEP);
  free_root(thd->mem_root, MYF(MY_KEEP_PREALLOC));
}

void count_change(THD *thd, enum_sql_command command, bool prepared, size_t bytes_received) {
  STATUS_VAR &counts = thd->status_var;
  ++counts.questions;
  ++counts.com_stat[command];
  if (prepared) ++counts.com_stmt_execute;
  counts.bytes_received += bytes_received;
  if (thd->server_status & SERVER_QUERY_WAS_SLOW) ++counts.long_query_count;
}

TableNames::TableNames(const std::string &database_name, const std::string &name)
    : database(&database_name), table(&name) {
  if (lower_case_table_names == 0) return;
  lowered_[0] = table_name(database_name);
  lowered_[1] = table_name(name);
  database = &lowered_[0];
  table = &lowered_[1];
}

bool look_at_table(THD *thd, const TableNames &names, const std::function<void(TABLE &)> &look) {
  const MDL_savepoint locks_before = thd->mdl_context.mdl_savepoint();
  STATUS_VAR before;
  std::memcpy(static_cast<void *>(&before), &thd->status_var, counted_status_bytes);
  TABLE_LIST list;
  Dummy_error_handler silence;
  thd->push_internal_handler(&silence);
  thd->lex->sql_command = SQLCOM_SELECT;
  thd->lex->query_tables_own_last = nullptr;
  name_table(thd, list, *names.database, *names.table, TL_READ);
  const ulong wait = std::exchange(thd->variables.lock_wait_timeout, 0);
  Open_table_context context(thd, open_flags_without_waiting);
  const bool opened = !open_table(thd, &list, &context) && list.table != nullptr;
  thd->variables.lock_wait_timeout = wait;
  try {
    if (opened) look(*list.table);
  } catch (const std::bad_alloc &) {  // the table has to be closed; nothing was learnt of it
  }
  close_and_unlock(thd, locks_before);
  thd->pop_internal_handler();
  thd->lex->sql_command = SQLCOM_END;
  std::memcpy(static_cast<void *>(&thd->status_var), &before, counted_status_bytes);
  return opened;
}

bool is_view(THD *thd, const TableNames &names) {
  char path[FN_REFLEN + 1];
  build_table_filename(path, sizeof path - 1, names.database->c_str(), names.table->c_str(), reg_ext, 0);
  return dd_frm_is_view(thd, path);
}

SessionStatement::SessionStatement(THD *thd, bool prepared, enum_sql_command command)
    : thd_(thd),
      locks_before_(thd->mdl_context.mdl_savepoint()),
      prepared_(prepared),
      command_(command),
      isolation_(static_cast<uint>(thd->tx_isolation)),
      read_only_(thd->tx_read_only) {
  std::memcpy(static_cast<void *>(&before_), &thd->status_var, counted_status_bytes);
  running_.emplace(thd, prepared ? COM_STMT_EXECUTE : COM_QUERY);
  // The storage engine decides by this whether to lock the rows that it reads.
  thd->lex->sql_command = command;
  thd->lex->query_tables_own_last = nullptr;  // the statement before may have had some
  thd->count_cuted_fields = CHECK_FIELD_IGNORE;
}

bool SessionStatement::open(TABLE_LIST &list) {
  const ulong wait = std::exchange(thd_->variables.lock_wait_timeout, 0);
  Open_table_context context(thd_, open_flags_without_waiting);
  bool opened = !open_table(thd_, &list, &context) && list.table != nullptr;
  if (opened) {
    list.table->pos_in_table_list = &list;
    list.table->query_id = thd_->query_id;
    list.table->reginfo.lock_type = list.lock_type;
    thd_->lock = mysql_lock_tables(thd_, &list.table, 1, 0);
    opened = thd_->lock != nullptr;
  }
  thd_->variables.lock_wait_timeout = wait;
  return opened;
}

/// Counts as open() would: the server finds the table in its cache.
bool SessionStatement::borrow(TABLE &table, const MDL_ticket &ticket) {
  THD *const thd = thd_;
  if (thd->in_multi_stmt_transaction_mode()) {
    MDL_request request;
    MDL_REQUEST_INIT_BY_KEY(&request, ticket.get_key(), MDL_SHARED_READ, MDL_TRANSACTION);
    if (thd->mdl_context.try_acquire_lock(&request) || request.ticket == nullptr) return false;
  }
  ++thd->status_var.table_open_cache_hits;
  borrowed_ = &table;
  owner_ = std::exchange(table.in_use, thd);
  table.query_id = thd->query_id;
  thd->lock = mysql_lock_tables(thd, &borrowed_, 1, 0);
  return thd->lock != nullptr;
}

/// After it has been unlocked. The handler is left as by close_thread_table().
void SessionStatement::give_back() {
  if (borrowed_ == nullptr) return;
  TABLE &table = *std::exchange(borrowed_, nullptr);
  table.file->update_global_table_stats();
  if (table.s->blob_fields != 0) free_field_buffers_larger_than(&table, MAX_TDC_BLOB_SIZE);
  table.file->ha_reset();
  end_loan(table, owner_);
}

bool SessionStatement::commit() {
  if (trans_commit_stmt(thd_)) return false;
  close_tables();
  return true;
}

void SessionStatement::close_tables() {
  close_thread_tables(thd_);
  give_back();
  if (thd_->in_active_multi_stmt_transaction()) thd_->mdl_context.release_statement_locks();
  else thd_->release_transactional_locks();
}

void SessionStatement::done(uint64_t examined, uint64_t sent, uint64_t found, size_t bytes_received,
                            size_t bytes_sent) {
  THD *const thd = thd_;
  STATUS_VAR &counts = thd->status_var;
  ++counts.questions;
  ++counts.com_stat[SQLCOM_SELECT];
  if (prepared_) ++counts.com_stmt_execute;
  if (sent == 0) ++counts.empty_queries;
  else counts.rows_sent += sent;
  counts.bytes_received += bytes_received;
  counts.bytes_sent += bytes_sent;
  thd->inc_examined_row_count(examined);
  thd->inc_sent_row_count(sent);
  thd->limit_found_rows = found;
  thd->set_row_count_func(-1);
  if (thd->server_status & SERVER_QUERY_WAS_SLOW) ++counts.long_query_count;
  running_->end();
}

void SessionStatement::done_changing(size_t bytes_received) {
  count_change(thd_, command_, prepared_, bytes_received);
  running_->end();
}

void SessionStatement::take_back() {
  trans_rollback_stmt(thd_);
  close_tables();
}

/// As at the end of mysql_execute_command().
void SessionStatement::lose() {
  trans_rollback_stmt(thd_);
  close_thread_tables(thd_);
  give_back();
  trans_rollback_implicit(thd_);
  thd_->release_transactional_locks();
}

void SessionStatement::undo() {
  THD *const thd = thd_;
  trans_rollback_stmt(thd);
  close_and_unlock(thd, locks_before_);
  give_back();
  thd->clear_error(true);
  // Set for the next transaction only, which has not begun.
  thd->tx_isolation = static_cast<enum_tx_isolation>(isolation_);
  thd->tx_read_only = read_only_;
  std::memcpy(static_cast<void *>(&thd->status_var), &before_, counted_status_bytes);
  running_->end();
}

}  // namespace postern::mariadb
