#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/shared_writes.h"

#include <cstring>
#include <new>

#include "base/limits.h"
#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/hosted_session.h"
#include "engine/mariadb/basics/no_row_waits.h"
#include "engine/mariadb/hosted/thd/session_statement.h"

namespace postern::mariadb {
namespace {

constexpr int open_attempts_max = 3;

/// While one lives, nothing counts in the worker's session: the sessions that ask count it.
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

}  // namespace

bool SharedWrites::take(Op &op, HostedSession &session) {
  const Statement &statement = *op.statement;
  if (!HostedSession::asks_to_write(statement) || session.in_transaction()) return false;
  const auto &plan = *static_cast<const WritePlan *>(statement.plan);
  const std::optional<NotNow> why = session.may_share(statement, plan);
  if (why) {
    count(*why);
    plan.note_left(*why);
    return false;
  }
  writes_.push_back(
      {.op = &op, .session = &session, .plan = &plan, .known = plan.known(session.answer_shape(statement))});
  op.progress = Progress::waiting;
  return true;
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
      write.session->tell_written(*write.op->statement, *write.plan, write.changed, gtid, began_us, tables_.counters());
      write.op->progress = Progress::done;
      done(*write.op);
    } else {
      count(*write.why);
      write.plan->note_left(*write.why);
      write.op->progress = Progress::needs_own_run;
    }
  }
  writes_.clear();
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
    if (const auto &answer = write.known->answer; answer)
      write.changed.returned = {&*answer, command_of(write.op->statement->packet) == COM_STMT_EXECUTE};
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

/// Whether the write failed at the AUTO-INC lock with its row changed: raising the counter is the last thing that is
/// done for a row that brings its id.
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
  return row_.run(thd, write.session->thd(), target, write.plan->change(), write.known->change,
                  write.op->statement->values, write.changed);
}

/// False: nothing of it is there.
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
