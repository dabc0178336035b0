#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/writes/shared_writes.h"

#include <cstring>
#include <new>

#include "base/limits.h"
#include "engine/mariadb/basics/no_row_waits.h"
#include "engine/mariadb/hosted/writes/change_answer.h"
#include "engine/mariadb/basics/attachment.h"
#include "engine/mariadb/hosted/thd/session_statement.h"

namespace postern::mariadb {
namespace {

constexpr int open_attempts_max = 3;

/// While one lives, nothing is counted in the worker's session: the clients' sessions count it.
class Uncounted {
 public:
  explicit Uncounted(THD *thd) : thd_(thd) {
    std::memcpy(static_cast<void *>(&before_), &thd->status_var, counted_status_bytes);
  }
  ~Uncounted() { std::memcpy(static_cast<void *>(&thd_->status_var), &before_, counted_status_bytes); }
  Uncounted(const Uncounted &) = delete;
  Uncounted &operator=(const Uncounted &) = delete;

 private:
  THD *const thd_;
  STATUS_VAR before_;
};

/// Counts handler and binlog calls as the server does. With binlog_format=MIXED it also logs statements that changed
/// nothing.
void count_calls(THD *thd, const ChangeForm &form, const Changed &changed) {
  STATUS_VAR &counts = thd->status_var;
  const bool any = changed.wrote;
  const bool logged = mysql_bin_log.is_open();
  const bool commits_log = logged && (any || thd->variables.binlog_format == BINLOG_FORMAT_MIXED);
  ++counts.table_open_cache_hits;
  counts.ha_commit_count += commits_log ? 2 : 1;
  if (logged && any) counts.ha_prepare_count += 2;
  if (form.what == ChangeForm::What::insert) {
    counts.ha_write_count += changed.writes;
    counts.rows_read += changed.duplicates;
    counts.ha_read_key_count += changed.duplicates;
    counts.ha_update_count += changed.updates;
    counts.ha_delete_count += changed.deletes;
    return;
  }
  counts.rows_read += changed.reads.rows;
  counts.ha_read_key_count += changed.reads.keys;
  counts.ha_read_first_count += changed.reads.firsts;
  counts.ha_read_next_count += changed.reads.nexts;
  if (form.what == ChangeForm::What::update) counts.ha_update_count += changed.changed;
  else counts.ha_delete_count += changed.changed;
}

}  // namespace

void SharedWrites::take(const Asked &asked, Op &op, const WritePlan &plan, const WritePlan::Learnt &known) {
  writes_.push_back({.op = &op,
                     .session = asked.thd,
                     .mysys = asked.mysys,
                     .prepared = asked.prepared,
                     .plan = &plan,
                     .known = &known});
  op.progress = Progress::waiting;
}

void SharedWrites::run(THD *thd, const std::function<void()> &give_up_all,
                       const std::function<void(Op &)> &done) noexcept {
  const ulonglong began_us = microsecond_interval_timer();
  rpl_gtid gtid{};
  {
    const Uncounted uncounted(thd);
    const NoRowWaits no_waits(thd);
    const rpl_gtid before = thd->get_last_commit_gtid();
    if (!change_and_commit(thd, give_up_all)) leave_all(NotNow::lost);
    gtid = thd->get_last_commit_gtid();
    if (gtid.seq_no == before.seq_no && gtid.domain_id == before.domain_id) gtid = {};
    tables_.close();
  }
  for (Write &write : writes_) {
    if (!write.why) {
      answer(write, gtid, began_us);
      write.plan->note_tried(std::nullopt);
      write.op->progress = Progress::done;
      done(*write.op);
    } else {
      count(*write.why);
      write.plan->note_left(*write.why);
      write.plan->note_tried(write.why);
      write.op->progress = Progress::needs_own_run;
    }
  }
  writes_.clear();
}

void SharedWrites::answer(const Write &write, const rpl_gtid &gtid, uint64_t began_us) {
  THD *const thd = write.session;
  const ChangeForm &form = write.plan->change();
  const Statement &statement = *write.op->statement;
  const AtWork at_work(thd, write.mysys);
  const SessionCommand running(thd, write.prepared ? COM_STMT_EXECUTE : COM_QUERY, began_us);
  const enum_sql_command command = command_of(form);
  thd->lex->sql_command = command;
  thd->inc_examined_row_count(write.changed.examined);
  const auto status = static_cast<uint16_t>(thd->server_status);
  say_ok(thd, form, write.changed);
  rpl_gtid last = gtid;
  if (write.changed.wrote && gtid.seq_no != 0) thd->set_last_commit_gtid(last);
  thd->update_server_status();
  send_answer(thd, form, write.changed.returned, status, *statement.output);
  count_change(thd, command, write.prepared, statement.packet.size());
  count_calls(thd, form, write.changed);
  count_rows(tables_.counters(), form, write.changed);
  write.op->rows_sent = static_cast<uint32_t>(write.changed.returned.count());
  write.op->rows_examined = static_cast<uint32_t>(write.changed.examined + write.changed.duplicates);
  tables_.counters().add(Counter::rows_sent, write.op->rows_sent);
  tables_.counters().add(Counter::rows_examined, write.op->rows_examined);
}

bool SharedWrites::open(THD *thd, const std::function<void()> &give_up_all) {
  for (int attempt = 0; attempt < open_attempts_max; ++attempt) {
    tables_.begin(thd, false);
    bool again = false;
    for (Write &write : writes_) {
      const ReadForm &rows = write.plan->change().rows;
      const TableNames names(rows.database, rows.table);
      write.target = &tables_.prepare(*names.database, *names.table, give_up_all);
      again = write.target->attempt.state == TableState::again;
      if (again) break;
    }
    if (again) continue;
    tables_.lock_all();
    return tables_.locked();
  }
  return false;
}

/// False: the transaction is lost.
bool SharedWrites::change_all(THD *thd) {
  row_wait_.allow(limits::row_wait_fast_ms);  // for locks other than rows'
  row_wait_.watch(true);
  bool lost = false;
  for (Write &write : writes_) {
    write.changed = {};
    if (const auto &answer = write.known->answer; answer) write.changed.returned = {&*answer, write.prepared};
    row_wait_.forget_last();
    write.why = change(thd, write);
    lost = row_.lost() || (write.why && met_autoinc_lock(write));
    if (lost) break;
  }
  row_wait_.watch(false);
  row_wait_.take_expired();
  row_wait_.take_waits();
  return !lost;
}

/// Whether the write failed at the AUTO-INC lock with its row changed: raising the counter is the last step for a row
/// with an explicit value.
bool SharedWrites::met_autoinc_lock(Write &write) {
  if (row_wait_.last() != RowWait::For::table) return false;
  write.target->note_autoinc_held(microsecond_interval_timer());
  return row_.code() != HA_ERR_AUTOINC_READ_FAILED;
}

std::optional<NotNow> SharedWrites::change(THD *thd, Write &write) {
  WriteTable &target = *write.target;
  if (target.attempt.state != TableState::ready) return NotNow::table_busy;
  if (target.table->s->get_table_ref_version() != write.known->version) return NotNow::table_changed;
  const bool edits = write.plan->change().changes_old_rows();
  if (edits ? target.edits_need_own_run : target.inserts_need_own_run) return NotNow::alone;
  return row_.run(thd, write.session, target, write.plan->change(), write.known->change, write.op->statement->values,
                  write.changed);
}

/// False: all of it was undone.
bool SharedWrites::change_and_commit(THD *thd, const std::function<void()> &give_up_all) noexcept {
  try {
    if (open(thd, give_up_all) && change_all(thd) && !thd->killed) return commit();
  } catch (const std::bad_alloc &) {
  }
  tables_.roll_back();
  return false;
}

/// A commit that fails, or throws, has undone everything.
bool SharedWrites::commit() {
  try {
    return tables_.commit().lasted();
  } catch (const std::bad_alloc &) {
    tables_.roll_back();
    return false;
  }
}

void SharedWrites::leave_all(NotNow why) {
  for (Write &write : writes_)
    if (!write.why) write.why = why;
}

}  // namespace postern::mariadb
