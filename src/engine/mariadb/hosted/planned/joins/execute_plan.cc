#include "engine/mariadb/hosted/planned/forms/server.h"

#include <algorithm>
#include <utility>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/planned/joins/join_plan.h"
#include "engine/mariadb/hosted/thd/home_thd.h"
#include "engine/mariadb/hosted/reads/row_locks.h"
#include "engine/mariadb/basics/attachment.h"

namespace postern::mariadb {
namespace {

/// UNION ALL adds the rows of each SELECT to those found before, in a private member.
template <auto Member>
struct RevealFound {
  friend ulonglong &rows_found(select_union_direct &result) { return result.*Member; }
};
ulonglong &rows_found(select_union_direct &result);
template struct RevealFound<&select_union_direct::limit_found_rows>;

}  // namespace

/// While one lives, a session's THD replaces the plan's own.
class JoinPlan::Lent {
 public:
  Lent(JoinPlan &plan, THD *thd)
      : plan_(plan),
        thd_(thd),
        lex_(std::exchange(thd->lex, &plan.lex_)),
        memory_before_(thd->status_var.local_memory_used),
        files_before_(compat::bytes_of_files(thd->status_var)),
        // The first execution makes objects that are kept for the others.
        arena_(plan.executed_ ? run_arena_ : plan.arena_) {
    plan.give_to(thd);
    // Those that the plan keeps may grow or go by the count of the session.
    compat::set_bytes_of_files(thd->status_var, files_before_ + plan.file_bytes_);
    thd->set_n_backup_active_arena(&arena_, &backup_);
  }
  ~Lent() {
    thd_->restore_active_arena(&arena_, &backup_);
    run_arena_.free_items();
    free_root(&plan_.run_memory_.root, MYF(MY_KEEP_PREALLOC));
    thd_->lex = lex_;
    plan_.give_to(plan_.home_);
    for (TABLE *const table : plan_.tables_.all()) end_loan(*table, plan_.home_);
    // Memory that the plan keeps may be given back while it is executed for another session.
    const int64 taken = thd_->status_var.local_memory_used - memory_before_;
    STATUS_VAR &home = plan_.home_->status_var;
    thd_->status_var.local_memory_used = memory_before_;
    home.local_memory_used = home.local_memory_used + taken;
    const ulonglong at_home = compat::bytes_of_files(home) - plan_.file_bytes_;
    plan_.file_bytes_ = compat::bytes_of_files(thd_->status_var) - files_before_;
    compat::set_bytes_of_files(thd_->status_var, files_before_);
    compat::set_bytes_of_files(home, at_home + plan_.file_bytes_);
  }
  Lent(const Lent &) = delete;
  Lent &operator=(const Lent &) = delete;

 private:
  JoinPlan &plan_;
  THD *const thd_;
  LEX *const lex_;
  const int64 memory_before_;
  const ulonglong files_before_;
  Query_arena backup_;
  Query_arena run_arena_{&plan_.run_memory_.root, Query_arena::STMT_CONVENTIONAL_EXECUTION};
  Query_arena &arena_;
};

void JoinPlan::give_to(THD *thd) {
  lex_.thd = thd;
  lex_.unit.thd = thd;
  for (JOIN *const join : joins_) join->thd = thd;
  sink_->set_thd(thd);
  if (is_union_) {
    lex_.unit.get_union_result()->thd = thd;
    lex_.unit.table->in_use = thd;
    const SELECT_LEX *const reads = lex_.unit.fake_select_lex;
    if (reads != nullptr && reads->join != nullptr) reads->join->thd = thd;
  }
  subqueries_.give_to(thd);
  derived_.give_to(thd);
  for (TABLE *const table : tables_.all()) table->in_use = thd;
  scratch_.give_to(thd);
}

bool JoinPlan::is_worth_keeping() {
  Attachment at_home;
  at_home.to(home_, my_thread_var);
  return tables_.figures_are_alike();
}

/// The server unlocks, before it reads the next row by a key, the one before if its conditions were not true: that may
/// be one of the execution before, of another transaction.
void JoinPlan::prepare_locks() const {
  for (TABLE *const table : tables_.all()) table->reginfo.lock_type = thr_lock_of(lock_, false);
  if (lock_ == FormLock::none) return;
  for (JOIN_TAB *tab = first_linear_tab(joins_[0], WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(joins_[0], tab, WITH_BUSH_ROOTS)) {
    tab->ref.has_record = false;
    tab->ref.use_count = 0;
  }
}

std::optional<NotNow> JoinPlan::execute(THD *thd, std::span<const Value> values, bool prepared, uint64_t rows_max,
                                        const sql::Answer &answer, sql::Packets &packets, Executed &executed) {
  if (values.size() != values_.size()) return NotNow::value;
  if (!tables_.hold(thd, lock_)) return NotNow::table_busy;
  prepare_locks();
  const Lent lent(*this, thd);
  if (!values_.take(thd, values) || !values_.take_limits(values, false)) return NotNow::value;
  rows_max = std::min(rows_max, scratch_.rows_max());
  lex_.limit_rows_examined_cnt = rows_max;
  thd->accessed_rows_and_keys = 0;
  if (!tables_.lock(thd)) return NotNow::table_busy;
  scratch_.take(thd);
  if (!indexes_.suit(executed)) {
    PlanTables::unlock(thd);
    return NotNow::value;
  }
  if (!ranges_.empty() && !ranges_.renew(thd)) {
    PlanTables::unlock(thd);
    return thd->is_error() ? NotNow::read_failed : NotNow::value;
  }
  Protocol &protocol = prepared ? static_cast<Protocol &>(thd->protocol_binary) : thd->protocol_text;
  Protocol *const usual = std::exchange(thd->protocol, &protocol);
  // By now the statement may have begun a transaction, which shows in the status beside the columns.
  thd->server_status |= status_;
  thd->query_plan_flags |= plan_flags_;
  answer.put_head(packets, static_cast<uint16_t>(thd->server_status));
  sink_->begin(thd, protocol, packets, answer);
  spent_ = true;
  const ha_rows examined_before = thd->get_examined_row_count();
  const bool ran = run(thd);
  thd->protocol = usual;
  const std::optional<NotNow> why = outcome(thd, ran, rows_max);
  spent_ = why && why != NotNow::locking;
  if (!spent_) count(thd);
  executed_ = true;
  executed.examined = thd->get_examined_row_count() - examined_before;
  executed.sent = sink_->sent();
  executed.found = thd->limit_found_rows;
  if (!why) indexes_.note_examined(executed.examined);
  // Subqueries by an index leave it open.
  if (!subqueries_.empty())
    for (TABLE *const table : tables_.all()) table->file->ha_index_or_rnd_end();
  if (!spent_) spent_ = !derived_.empty();
  PlanTables::unlock(thd);
  return why;
}

/// False: it has not come to the end.
bool JoinPlan::run(THD *thd) {
  // The storage engine was notified of a new statement, and has dropped this flag.
  for (TABLE *const table : tables_.all())
    if (table->file->keyread_enabled()) table->file->extra(HA_EXTRA_KEYREAD);
  lex_.current_select = lex_.first_select_lex();
  if (!values_.calculate(thd)) return false;
  if (is_union_) return run_union(thd);
  SELECT_LEX_UNIT &unit = lex_.unit;
  unit.set_limit(unit.global_parameters());
  JOIN &join = *joins_[0];
  if (executed_ && join.reinit()) return false;
  join.do_send_rows = unit.lim.get_select_limit() > 0;
  if (!derived_.fill(thd, lex_, executed_)) return false;
  scratch_.clear_sums();
  return compat::execute(join);
}

/// The server begins each SELECT anew by itself. Where rows are kept, it makes the one that reads them the first time.
bool JoinPlan::run_union(THD *thd) {
  scratch_.clear_sums();
  if (!keeps_rows()) rows_found(static_cast<select_union_direct &>(*lex_.unit.get_union_result())) = 0;
  const PlanningCounts before(thd->status_var);
  const bool failed = lex_.unit.exec();
  if (executed_) of_union_.add_to(thd->status_var);
  else of_union_ = PlanningCounts(thd->status_var).since(before);
  return !failed;
}

std::optional<NotNow> JoinPlan::outcome(THD *thd, bool ran, uint64_t rows_max) const {
  if (thd->killed == ABORT_QUERY) {  // that is how the server ends one that examines too many rows
    thd->reset_killed();
    return NotNow::too_much;
  }
  if (thd->killed != NOT_KILLED) return NotNow::killed;
  if (sink_->overflowed()) return NotNow::too_much;
  // A UNION ends there with the rows that it has, and a warning.
  if (is_union_ && thd->accessed_rows_and_keys > rows_max) return NotNow::too_much;
  if (lock_ != FormLock::none && thd->is_error() && thd->get_stmt_da()->sql_errno() == ER_LOCK_WAIT_TIMEOUT)
    return NotNow::row_locked;
  const bool failed = std::ranges::any_of(joins_, [](const JOIN *join) { return join->error != 0; });
  if (!ran || failed || thd->is_error() || sink_->mismatched()) return NotNow::read_failed;
  if (thd->get_stmt_da()->current_statement_warn_count() != 0) return NotNow::warning;
  if (scratch_.have_outgrown()) return NotNow::too_much;
  if (keeps_rows() && lex_.unit.table->s->db_type() != heap_hton) return NotNow::too_much;
  // The server locks rows of all tables, even if an earlier locked row excludes them.
  return lock_ != FormLock::none && sink_->sent() == 0 ? std::optional(NotNow::locking) : std::nullopt;
}

/// Counts as the server does while it plans, opens, and makes temporary tables.
void JoinPlan::count(THD *thd) const {
  STATUS_VAR &counts = thd->status_var;
  planning_.add_to(counts);
  counts.table_open_cache_hits += tables_.all().size();
  if (!is_union_) counts.last_query_cost = joins_[0]->best_read;
  scratch_.count(counts, executed_);
  counts.created_tmp_tables_ += keeps_rows() ? 1 : 0;
  for (TABLE *const table : tables_.all()) table->file->update_global_table_stats();
}

}  // namespace postern::mariadb
