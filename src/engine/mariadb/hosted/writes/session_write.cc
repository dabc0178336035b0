#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/writes/session_write.h"

#include <new>

#include "engine/mariadb/hosted/writes/change_answer.h"
#include "engine/mariadb/basics/no_row_waits.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/mariadb/hosted/thd/statement_end.h"
#include "engine/rows/write_tables.h"

namespace postern::mariadb {
namespace {

bool logs(const THD *thd) {
  return mysql_bin_log.is_open() && (thd->variables.option_bits & OPTION_BIN_LOG) != 0;
}

/// The statement's rows go to the binary log of its transaction.
bool end_logging(THD *thd) {
  return !thd->binlog_flush_pending_rows_event(true, true) && !thd->binlog_flush_pending_rows_event(true, false);
}

/// The parser's results for the last text would still be used, for the number of AUTO_INCREMENT values, say.
void forget_statement(THD *thd) {
  lex_start(thd);
  thd->lex->many_values.empty();
}

/// Whether the server would meet the same error, and might consume another AUTO_INCREMENT value.
bool is_final(const ChangeForm &form, int code) {
  if (form.what != ChangeForm::What::insert || form.duplicate == ChangeForm::Duplicate::ignore) return false;
  return code == HA_ERR_FOUND_DUPP_KEY || code == HA_ERR_FOREIGN_DUPLICATE_KEY || code == HA_ERR_NO_REFERENCED_ROW;
}

}  // namespace

std::optional<NotNow> SessionWriter::run(THD *thd, const SessionWrite &write, Output &output, Counters &counters) {
  if (NoRowWaits::end_transactions()) return NotNow::rollback_on_timeout;
  forget_statement(thd);
  const TableNames names(write.form.rows.database, write.form.rows.table);
  WriteTable target(*names.database, *names.table);
  TABLE_LIST list;
  SessionStatement statement(thd, write.prepared, command_of(write.form));
  name_table(thd, list, target.database, target.name, TL_WRITE);
  if (logs(thd)) thd->set_current_stmt_binlog_format_row();
  Changed changed;
  changed.returned = {write.answer, write.prepared};
  std::optional<NotNow> why = NotNow::table_busy;
  if (!may_change(thd, write.form)) {
    why = NotNow::privilege;
  } else if (statement.open(list)) {
    target.table = list.table;
    why = change(thd, write, statement, target, changed);
  }
  const auto status = static_cast<uint16_t>(thd->server_status);
  if (target.table == nullptr) changed.returned = {};  // where the server fails before it has sent the columns
  if (thd->transaction_rollback_request) {
    tell_lost(thd, target.table, row_.code(), row_.failed_to_find());
    statement.lose();
  } else if (why == NotNow::row_refused && is_final(write.form, row_.code())) {
    if (changed.insert_id != 0) thd->record_first_successful_insert_id_in_cur_stmt(changed.insert_id);
    note_told_id(thd, changed);
    target.table->file->print_error(row_.code(), MYF(0));
    statement.take_back();
  } else if (why) {
    thd->get_stmt_da()->clear_warning_info(thd->query_id);
    statement.undo();
    return why;
  } else {
    thd->inc_examined_row_count(changed.examined);
    say_ok(thd, write.form, changed);
    count_rows(counters, write.form, changed);
  }
  thd->update_server_status();
  send_answer(thd, write.form, changed.returned, status, output);
  statement.done_changing(write.bytes_received);
  return std::nullopt;
}

std::optional<NotNow> SessionWriter::change(THD *thd, const SessionWrite &write, SessionStatement &statement,
                                            WriteTable &target, Changed &changed) {
  TABLE &table = *target.table;
  if (table.s->get_table_ref_version() != write.table_version) return NotNow::table_changed;
  // Rows that refer to this table change with it.
  if (write.form.changes_old_rows() && table.file->referenced_by_foreign_key()) return NotNow::alone;
  if (logs(thd)) thd->binlog_prepare_for_row_logging();
  std::optional<NotNow> why = NotNow::read_failed;
  try {
    const NoRowWaits no_waits(thd);
    why = row_.run(thd, thd, target, write.form, write.change, write.values, changed);
  } catch (const std::bad_alloc &) {
  }
  if (why) return why;
  if (row_.lost() || thd->killed != NOT_KILLED) return NotNow::killed;
  if (target.changed) query_cache_invalidate3(thd, &table, true);
  return end_logging(thd) && statement.commit() ? std::nullopt : std::optional(NotNow::read_failed);
}

}  // namespace postern::mariadb
