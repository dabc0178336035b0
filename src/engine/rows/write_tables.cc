#include "engine/server/server.h"

#include "engine/rows/write_tables.h"

#include <algorithm>
#include <array>

#include "contract/script.h"
#include "engine/server/cluster.h"
#include "engine/server/commit_waits.h"
#include "engine/server/differences.h"
#include "engine/server/failures.h"
#include "engine/rows/names.h"

namespace postern::rows {
namespace {

/// Table names that are cached; beyond that all are dropped and resolved again.
constexpr size_t targets_max = 4'096;

uint8_t events_of(Verb verb) {
  if (verb == Verb::lock) return 0;
  const uint8_t changes = event_bit(TRG_EVENT_UPDATE);
  return changes | event_bit(verb == Verb::insert ? TRG_EVENT_INSERT : TRG_EVENT_DELETE);
}

}  // namespace

void WriteTables::begin(THD *thd, bool alone) {
  thd_ = thd;
  alone_ = alone;
  ++batch_;
  open_.clear();
  used_.clear();
  to_open_.clear();
  locked_ = false;
  if (bound_.worth_a_look()) bound_.forget_retired();
  if (targets_.size() <= targets_max) return;
  bound_.forget_all();
  targets_.clear();
}

WriteTable *WriteTables::find_target(const std::string &database, const std::string &name) {
  for (const auto &target : targets_)
    if (target->name == name && target->database == database) return target.get();
  return targets_.emplace_back(std::make_unique<WriteTable>(database, name)).get();
}

OpenTable &WriteTables::prepare(Spec *spec, Verb verb, const std::function<void()> &give_up_all) {
  OpenTable *known = bound_.find(spec->id());
  if (known == nullptr || known->serial != spec->serial()) {
    auto fresh = std::make_unique<OpenTable>(spec);
    fresh->target = find_target(fresh->database, fresh->name);
    known = &bound_.put(std::move(fresh));
  }
  OpenTable &table = *known;
  table.target->events |= events_of(verb);
  if (table.batch == batch_) return table;
  WriteTable &target = *table.target;
  if (target.batch != batch_) {
    target.batch = batch_;
    target.events = events_of(verb);
    open(target, give_up_all);
  }
  verb_ = verb;
  table.batch = batch_;
  used_.push_back(&table);
  if (target.attempt.state == TableState::ready && !alone_) {
    bind(table, target);
  } else {
    table.state = target.attempt.state;
    table.failure = target.attempt.failure;
    table.error = target.attempt.error;
  }
  return table;
}

WriteTable &WriteTables::prepare(const std::string &database, const std::string &name,
                                 const std::function<void()> &give_up_all) {
  WriteTable &target = *find_target(database, name);
  if (target.batch == batch_) return target;
  target.batch = batch_;
  target.events = events_of(Verb::edit);
  open(target, give_up_all);
  return target;
}

OpenTable *WriteTables::prepared(const Spec *spec) {
  OpenTable *const table = bound_.find(spec->id());
  return table != nullptr && table->serial == spec->serial() && table->batch == batch_ ? table : nullptr;
}

void WriteTables::open(WriteTable &target, const std::function<void()> &give_up_all) {
  target.table = nullptr;
  target.changed = false;
  target.marked = WriteTable::Marked::nothing;
  target.marked_by = nullptr;
  target.attempt = target.admitted ? OpenAttempt{} : may_be_opened(thd_, target.database, target.name);
  target.admitted = target.attempt.state == TableState::ready;
  if (refuses_writes(thd_)) target.attempt = refusal_of_writes();
  if (target.attempt.state != TableState::ready) return;
  if (alone_) return to_open_.push_back(&target);
  name_table(thd_, target.list_, target.database, target.name, TL_WRITE);
  target.attempt = open_without_waiting(thd_, target.list_, give_up_all);
  if (target.attempt.state == TableState::busy) counters_->add(Counter::busy_retries);
  if (target.attempt.state == TableState::ready) opened(target);
}

void WriteTables::opened(WriteTable &target) {
  target.table = target.list_.table;
  target.table->reginfo.lock_type = TL_WRITE;
  open_.push_back(&target);
  counters_->add(Counter::table_opens);
  target.inserts_need_own_run = inserts_need_own_run(*target.table);
  target.edits_need_own_run = target.inserts_need_own_run || edits_need_own_run(*target.table);
}

void WriteTables::open_listed() {
  OpenAttempt attempt = open_together(to_open_);
  if (attempt.state != TableState::ready && to_open_.size() > 1) {
    // The others can be opened without the one that failed.
    for (WriteTable *const target : to_open_) {
      target->attempt = open_together({&target, 1});
      if (target->attempt.state == TableState::ready) close_together();
    }
    std::erase_if(to_open_, [](const WriteTable *target) { return target->attempt.state != TableState::ready; });
    attempt = open_together(to_open_);
  }
  for (WriteTable *const target : to_open_) {
    target->attempt = attempt;
    if (attempt.state == TableState::busy) counters_->add(Counter::busy_retries);
    if (attempt.state == TableState::ready) opened(*target);
  }
  for (OpenTable *const table : used_) {
    if (table->target->attempt.state == TableState::ready) {
      bind(*table, *table->target);
      continue;
    }
    table->state = table->target->attempt.state;
    table->failure = table->target->attempt.failure;
    table->error = table->target->attempt.error;
  }
}

/// Opens the tables as a statement of its own would: with every table and routine that their triggers, foreign keys
/// and default values need. All, or none.
OpenAttempt WriteTables::open_together(std::span<WriteTable *const> targets) {
  listed_ = 0;
  if (targets.empty()) return {};
  LEX *const lex = thd_->lex;
  lex->sql_command = verb_ == Verb::insert ? SQLCOM_INSERT : SQLCOM_UPDATE;
  TableRef **last = &lex->query_tables;
  for (WriteTable *const target : targets) {
    TableRef &list = target->list_;
    name_table(thd_, list, target->database, target->name, TL_WRITE);
    note_events(list, target->events);
    list.prev_global = last;
    *last = &list;
    last = &list.next_global;
  }
  lex->query_tables_last = last;
  if (!open_with_all_needed(thd_, lex->query_tables, listed_)) return {};
  OpenAttempt attempt;
  if (open_found_busy(thd_)) {
    take_server_error(thd_);
    attempt.state = TableState::busy;
  } else {
    attempt.state = TableState::failed;
    attempt.failure = open_failure(thd_);
    attempt.error = take_server_error(thd_);
  }
  close_together();
  return attempt;
}

/// The tables that open_together() has opened, and its changes to the statement.
void WriteTables::close_together() {
  if (thd_->open_tables != nullptr) close_thread_tables(thd_);
  release_locks(thd_);
  // The lists of the triggers' needs live on the statement's memory.
  begin_lex_anew(thd_);
}

void WriteTables::bind(OpenTable &table, WriteTable &target) {
  table.table = target.table;
  OpenAttempt attempt = resolve_names(thd_, table);
  table.state = attempt.state;
  table.failure = attempt.failure;
  table.error = std::move(attempt.error);
}

void WriteTables::lock_all() {
  TableRef *first = nullptr;
  TableRef **last = &first;
  uint32_t count = 0;
  if (alone_) {
    if (open_.empty()) return;
    first = thd_->lex->query_tables;
    count = listed_;
  } else {
    for (WriteTable *const target : open_) {
      if (target->inserts_need_own_run) continue;  // no op will touch it
      TableRef &list = target->list_;
      list.prev_global = last;
      *last = &list;
      last = &list.next_global;
      ++count;
    }
    *last = nullptr;
    if (count == 0) return;
    LEX *const lex = thd_->lex;
    lex->query_tables = first;
    first->prev_global = &lex->query_tables;
    lex->query_tables_last = last;
    lex->sql_command = SQLCOM_UPDATE;
  }
  OpenAttempt attempt;
  if (commits_are_blocked()) {
    attempt.state = TableState::busy;
  } else if (!lock_tables(thd_, first, count, 0)) {
    locked_ = true;
    counters_->add(Counter::table_locks);
    return;
  } else {
    attempt = failed_lock(thd_);
  }
  if (attempt.state == TableState::busy) counters_->add(Counter::busy_retries);
  for (OpenTable *const table : used_) {
    if (table->state != TableState::ready) continue;
    table->state = attempt.state;
    table->failure = attempt.failure;
    table->error = attempt.error;
  }
}

bool WriteTables::can_undo_all() const {
  return std::all_of(open_.begin(), open_.end(),
                     [](const WriteTable *target) { return can_roll_back(*target->table->file); });
}

/// Whether a backup that made a commit fail lately still does so.
bool WriteTables::commits_are_blocked() {
  if (!commits_were_blocked_) return false;
  MDL_request request;
  name_lock_of_commits(request);
  if (thd_->mdl_context.try_acquire_lock(&request)) {
    forget_error(thd_);
  } else if (request.ticket != nullptr) {
    thd_->mdl_context.release_lock(request.ticket);
    commits_were_blocked_ = false;
  }
  return commits_were_blocked_;
}

/// Why the server did not commit.
void WriteTables::take_words(THD *thd, Settlement &settlement) {
  ServerError error = take_server_error(thd);
  settlement.message = std::move(error.message);
  settlement.server_error = error.number;
}

/// The server has undone everything.
Settlement WriteTables::failed_commit(THD *thd, Settlement settlement) {
  commits_were_blocked_ = open_found_busy(thd);
  settlement.failure = commits_were_blocked_ ? Failure::table_busy : Failure::commit_failed;
  take_words(thd, settlement);
  return settlement;
}

Settlement WriteTables::commit() {
  if (!locked_) {
    if (thd_->in_multi_stmt_transaction_mode()) trans_commit_stmt(thd_);  // of finds alone
    return {};
  }
  bool changed = false;
  for (WriteTable *const target : open_) {
    if (!target->changed) continue;
    changed = true;
    note_changed(thd_, target->table);
  }
  end_statement();
  note_changes_for_good_in_transaction(thd_);
  Settlement settlement;
  settlement.repeatable = !cannot_be_undone(thd_);
  if (thd_->binlog_flush_pending_rows_event(true, true) || thd_->binlog_flush_pending_rows_event(true, false)) {
    settlement.failure = Failure::commit_failed;
    take_words(thd_, settlement);
    roll_back();
    return settlement;
  }
  wait_for_no_company(thd_);
  if (trans_commit_stmt(thd_)) return failed_commit(thd_, std::move(settlement));
  if (thd_->in_multi_stmt_transaction_mode()) {
    script_changed_ |= changed;
    step_changed_ |= changed;
  } else if (changed) {
    counters_->add(Counter::commits);
  }
  return settlement;
}

void WriteTables::roll_back() {
  if (!locked_) {
    if (thd_->in_multi_stmt_transaction_mode()) trans_rollback_stmt(thd_);
    return;
  }
  // An insert that was left in the middle has not taken that back.
  for (WriteTable *const target : open_)
    if (target->table != nullptr) tell(*target->table->file, HA_EXTRA_NO_IGNORE_DUP_KEY);
  end_statement();
  thd_->binlog_flush_pending_rows_event(true, false);  // what cannot be undone is in the binary log, too
  trans_rollback_stmt(thd_);
  if (thd_->transaction_rollback_request) trans_rollback_implicit(thd_);
  forget_error(thd_);
}

void WriteTables::end_statement() {
  for (WriteTable *const target : open_) {
    if (target->table == nullptr) continue;
    handler &file = *target->table->file;
    if (file.inited != handler::NONE) file.ha_index_or_rnd_end();
    file.ha_release_auto_increment();
    count_rows_in_statistics(file);
    target->table->next_number_field = nullptr;
    note_id_given(*target->table, false);
  }
}

void WriteTables::close() {
  if (thd_ == nullptr) return;
  locked_ = false;
  for (WriteTable *const target : open_) target->table = nullptr;
  for (OpenTable *const table : used_) {
    table->state = TableState::again;
    table->reader.give_back();
  }
  used_.clear();
  if (!open_.empty()) counters_->add(Counter::table_closes, open_.size());
  open_.clear();
  if (alone_) {
    close_together();
  } else {
    if (thd_->open_tables != nullptr) close_thread_tables(thd_);
    release_locks(thd_);
    LEX *const lex = thd_->lex;
    lex->query_tables = nullptr;
    lex->query_tables_last = &lex->query_tables;
    lex->sql_command = SQLCOM_SELECT;
    forget_locked_tables(*lex);
  }
  thd_ = nullptr;
}

void WriteTables::begin_script(THD *thd, Certification &certification) {
  script_changed_ = step_changed_ = false;
  // For InnoDB a statement that only locked its tables has not ended; InnoDB has noted that it is not part of a longer
  // transaction, and would count the following changes to it, so the commit would not cover them.
  trans_commit_stmt(thd);
  certification.begin(thd);
  certification.begin_statement();
  trans_begin(thd);  // which fails only in the middle of another
  Settlement begun;
  certification.end_statement(begun);  // where that failed, the first step does
}

void WriteTables::end_script(THD *thd, Certification &certification, Settlement &settlement, bool undo) {
  if (settlement.lasted() && !undo) {
    certification.begin_statement();
    settlement = commit_script(thd);
    certification.end_statement(settlement);
  } else {
    trans_rollback(thd);
    forget_error(thd);
    release_all_locks(thd);
  }
  certification.end();
}

namespace {

/// The binary log has the name from the statement.
auto name_mark(THD *thd, uint8_t depth) {
  constexpr std::array<Bytes, Script::depths> names{"postern", "postern_inner"};
  thd->lex->ident = server_text(names[depth]);
  return thd->lex->ident;
}

}  // namespace

// Each is a statement that has to end, as in SQL: it is in the binary log, too, and a failure of the next one would
// remove it there, so the savepoint would be beyond the log's end.

bool WriteTables::set_mark(THD *thd, uint8_t depth) {
  return !trans_savepoint(thd, name_mark(thd, depth)) && !trans_commit_stmt(thd);
}

bool WriteTables::go_back_to_mark(THD *thd, uint8_t depth) {
  return !trans_rollback_to_savepoint(thd, name_mark(thd, depth)) && !trans_commit_stmt(thd);
}

Settlement WriteTables::commit_script(THD *thd) {
  Settlement settlement;
  settlement.repeatable = !cannot_be_undone(thd);
  wait_for_no_company(thd);
  const bool failed = trans_commit(thd);
  if (failed) settlement = failed_commit(thd, std::move(settlement));
  else if (script_changed_) counters_->add(Counter::commits);
  release_all_locks(thd);
  return settlement;
}

}  // namespace postern::rows
