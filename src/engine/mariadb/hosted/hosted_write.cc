#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/hosted_session.h"

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/hosted/thd/attachment.h"
#include "engine/mariadb/hosted/rows/change_answer.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/rows/session_write.h"
#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/mariadb/hosted/verification.h"
#include "engine/mariadb/hosted/plans/write_plan.h"

namespace postern::mariadb {
namespace {

/// Counts handler and binlog calls as the server does. With binlog_format=MIXED it also logs statements that changed
/// nothing.
void count_calls(THD *thd, const ChangeForm &plan, const Changed &changed) {
  STATUS_VAR &counts = thd->status_var;
  const bool any = changed.wrote;
  const bool logged = mysql_bin_log.is_open();
  const bool commits_log = logged && (any || thd->variables.binlog_format == BINLOG_FORMAT_MIXED);
  ++counts.table_open_cache_hits;
  counts.ha_commit_count += commits_log ? 2 : 1;
  if (logged && any) counts.ha_prepare_count += 2;
  counts.rows_read += changed.examined + changed.duplicates;
  if (plan.what == ChangeForm::What::insert) {
    counts.ha_write_count += changed.writes;
    counts.ha_read_key_count += changed.duplicates;
    counts.ha_update_count += changed.updates;
    counts.ha_delete_count += changed.deletes;
    return;
  }
  counts.ha_read_key_count += changed.looked_up;
  if (plan.what == ChangeForm::What::update) counts.ha_update_count += changed.changed;
  else counts.ha_delete_count += changed.changed;
}

/// The worker's, for the memory it keeps.
SessionWriter &session_writer() {
  static thread_local SessionWriter writes;
  return writes;
}

}  // namespace

bool HostedSession::asks_to_write(const Statement &statement) {
  if (statement.plan == nullptr || !statement.plan->writes()) return false;
  const uint8_t command = command_in(statement.packet);
  return command == COM_QUERY || command == COM_STMT_EXECUTE;
}

std::optional<AnswerShape> HostedSession::answer_shape(const Statement &statement) const {
  const std::optional<ClientMetadata> columns = client_metadata(statement.packet);
  if (columns && !columns->holds(thd_)) return std::nullopt;
  return AnswerShape(thd_, command_in(statement.packet) == COM_STMT_EXECUTE, columns.has_value());
}

/// The checks that do not depend on whose transaction is used.
std::optional<NotNow> HostedSession::may_write(const Statement &statement, const WritePlan &plan) {
  THD *const thd = thd_;
  if (statement.output == nullptr || statement.values.size() != plan.values() ||
      plan.known(answer_shape(statement)) == nullptr)
    return NotNow::not_learnt;
  if (!plan.holds()) return NotNow::plan_off;
  if (is_client_of_cluster(thd)) return NotNow::galera;
  if (const auto why = session_allows(thd)) return why;
  if (const auto why = session_writes(thd)) return why;
  // For ON DUPLICATE KEY UPDATE the server marks every column as changed.
  const bool turns = plan.change().what == ChangeForm::What::insert && plan.change().changes_old_rows();
  if (turns && thd->variables.binlog_row_image != BINLOG_ROW_IMAGE_FULL) return NotNow::binary_log;
  if (command_in(statement.packet) == COM_STMT_EXECUTE) {
    if (const auto why = is_up_to_date(statement)) return why;
  }
  return is_to_be_verified() ? std::optional(NotNow::verified) : std::nullopt;
}

bool HostedSession::in_transaction() const {
  return thd_ != nullptr && thd_->in_multi_stmt_transaction_mode();
}

bool HostedSession::write_by_itself(const Statement &statement, Counters &counters) {
  if (!asks_to_write(statement) || !in_transaction()) return false;
  const auto &plan = *static_cast<const WritePlan *>(statement.plan);
  std::optional<NotNow> why = may_write(statement, plan);
  if (!why) {
    THD *const thd = thd_;
    const bool prepared = command_in(statement.packet) == COM_STMT_EXECUTE;
    const WritePlan::Learnt &known = *plan.known(answer_shape(statement));
    const Attachment attachment(thd, mysys_);
    note_types(statement);
    thd->net.reading_or_writing = 0;
    why = session_writer().run(thd,
                               {.form = plan.change(),
                                .change = known.change,
                                .answer = known.answer ? &*known.answer : nullptr,
                                .table_version = known.version,
                                .values = statement.values,
                                .prepared = prepared,
                                .bytes_received = statement.packet.size()},
                               *statement.output, counters);
    thd->net.reading_or_writing = 1;
    if (!why && prepared) learnt_.statement_id = 0;  // the server has not run it
  }
  if (why) {
    count(*why);
    plan.note_left(*why);
  }
  return !why;
}

std::optional<NotNow> HostedSession::may_share(const Statement &statement, const WritePlan &plan) {
  THD *const thd = thd_;
  if (const auto why = may_write(statement, plan)) return why;
  if (const auto why = session_shares(thd)) return why;
  const Attachment attachment(thd, mysys_);
  note_types(statement);
  return may_change(thd, plan.change()) ? std::nullopt : std::optional(NotNow::privilege);
}

/// The server's steps before and after a statement that has changed rows; the answer is the server's own.
void HostedSession::tell_written(const Statement &statement, const WritePlan &plan, const Changed &changed,
                                 const rpl_gtid &gtid, uint64_t began_us, Counters &counters) {
  THD *const thd = thd_;
  const Attachment attachment(thd, mysys_);
  const bool prepared = command_in(statement.packet) == COM_STMT_EXECUTE;
  const enum_sql_command command = command_of(plan.change());
  thd->net.reading_or_writing = 0;
  thd->reset_for_next_command();
  thd->set_command(prepared ? COM_STMT_EXECUTE : COM_QUERY);
  thd->query_plan_flags = QPLAN_INIT;
  thd->set_time();
  thd->start_utime = began_us;
  thd->set_query_id(next_query_id());
  thd->get_stmt_da()->opt_clear_warning_info(thd->query_id);
  thd->lex->sql_command = command;
  thd->inc_examined_row_count(changed.examined);
  const auto status = static_cast<uint16_t>(thd->server_status);
  say_ok(thd, plan.change(), changed);
  rpl_gtid last = gtid;
  if (changed.wrote && gtid.seq_no != 0) thd->set_last_commit_gtid(last);
  thd->update_server_status();
  send_answer(thd, plan.change(), changed.returned, status, *statement.output);
  count_change(thd, command, prepared, statement.packet.size());
  count_calls(thd, plan.change(), changed);
  count_rows(counters, plan.change(), changed);
  end_session_statement(thd);
  thd->net.reading_or_writing = 1;
  if (prepared) learnt_.statement_id = 0;  // the server has not run it
}

}  // namespace postern::mariadb
