#include "engine/mysql/server.h"

#include "engine/mysql/executor.h"

#include <new>

#include "engine/mysql/failures.h"
#include "engine/mysql/interruption.h"
#include "engine/mysql/mysql_executor.h"

namespace postern::mysqld {
namespace {

constexpr int prepare_attempts_max = 3;

}  // namespace

Settlement MysqlExecutor::run(const Run &run) {
  if (thread_->killed() && server_stopping()) return {.failure = Failure::stopping};
  if (thread_->has_old_globals()) renew();
  if (stopping_) return {.failure = Failure::stopping};
  lane_ = run.lane;
  if (lane_ == Lane::alone && !run.units.empty()) return run_unit(run);
  if (lane_ == Lane::alone && script_of(run.ops[0]) != nullptr) return run_script(run.ops[0]);
  if (!write_any(run.ops)) return run_reading(run);
  return std::any_of(run.ops.begin(), run.ops.end(), suits_turn) ? run_statements(run) : run_writing(run);
}

void MysqlExecutor::idle() noexcept {
  tables_.go_idle();
  write_tables_.go_idle();
}

/// A unit that has the transaction to itself. An op that fails by itself is undone with all others, and these are run
/// again without it.
Settlement MysqlExecutor::run_unit(const Run &run) {
  std::optional<Order::OwnUnit> unit;
  try {
    unit.emplace(order_, run.ops);
  } catch (const std::bad_alloc &) {
    return {.failure = Failure::out_of_memory};
  }
  const bool writing = write_any(run.ops);
  Settlement settlement;
  do {
    settlement = writing ? run_writing(run) : run_reading(run);
  } while (settlement.lasted() && unit->take_again());
  return settlement;
}

Settlement MysqlExecutor::run_reading(const Run &run) {
  Settlement settlement;
  begin();
  try {
    for (int attempt = 0; attempt < prepare_attempts_max && !prepare(run.ops); ++attempt) {
    }
    tables_.lock_all();
    finder_.expect(lookups_);
    execute_all(run, run.watcher);
  } catch (const std::bad_alloc &) {
    // A find in the slow lane may have sent a part of its reply, and its place with it.
    settlement = {.failure = Failure::out_of_memory, .repeatable = lane_ == Lane::turn || order_.in_own_unit()};
  }
  tables_.unlock_all(Tables::Ending::commit);
  if (!settlement.lasted() || tables_.holds_much()) {
    tables_.release_all();
  } else if (tables_.any_open() && tables_.wanted_by_others()) {
    tables_.release_all();
    counters_->add(Counter::ddl_yields);
  }
  end();
  return settlement;
}

/// All writes are one statement and one transaction.
Settlement MysqlExecutor::run_writing(const Run &run) {
  tables_.release_all();
  begin();
  begin_row_waits();
  const Settlement settlement = run_statement(run);
  if (!settlement.lasted()) counters_->add(Counter::transactions_lost);
  end();
  return settlement;
}

void MysqlExecutor::begin_row_waits() {
  const bool alone = lane_ == Lane::alone;
  writer_.begin_batch(thd(), alone, alone ? row_wait_ms() : 0, alone_row_wait_ms_);
}

/// Tables are opened and closed with it, those for reading too.
Settlement MysqlExecutor::run_statement(const Run &run) {
  const bool alone = lane_ == Lane::alone;
  const bool locks_places =
      (alone || order_.in_own_unit()) &&
      std::any_of(run.ops.begin(), run.ops.end(), [](const Op &op) { return op.verb == Verb::lock; });
  // Under REPEATABLE READ the view of the first statement stays until one comes that is not.
  thread_->begin_writing(locks_places || one_view_);
  Settlement settlement;
  try {
    for (int attempt = 0; attempt < prepare_attempts_max; ++attempt) {
      write_tables_.begin(thd(), alone);
      if (prepare(run.ops)) break;
    }
    write_tables_.lock_all();
    // Consistent reads, although the statement is one that writes.
    thd()->lex->sql_command = SQLCOM_SELECT;
    tables_.lock_all();
    execute_all(run, nullptr);
    settlement = writer_.take_lost();
    const bool undo = order_.in_own_unit() ? order_.ends() != sql::UnitEnds::commit : writer_.undo();
    if (settlement.lasted() && !undo) {
      settlement = write_tables_.commit();  // which throws only where it has failed
    } else {
      write_tables_.roll_back();
    }
  } catch (const std::bad_alloc &) {
    settlement = {.failure = Failure::out_of_memory, .repeatable = !cannot_be_undone(thd())};
    writer_.break_off();
    write_tables_.roll_back();
  }
  tables_.unlock_all(Tables::Ending::ended);
  tables_.close_all();
  write_tables_.close();
  thread_->end_writing();
  end_statement();
  return settlement;
}

/// Ops are executed, or passed by, in their order: so each open op finds the table that it opens.
inline void MysqlExecutor::execute_next(Op &op) {
  if (op.verb != Verb::open || opens_ == opening_.size()) return execute(op, nullptr);
  const Spec *const opening = opening_[opens_++].get();
  if (opening != nullptr) return execute(op, opening);
  op.progress = Progress::done;
  op.slot->clear();
  refuse(op, Failure::out_of_memory);
}

void MysqlExecutor::execute_all(const Run &run, Watcher *watcher) {
  opens_ = 0;
  order_.execute_all(run, watcher);
}

void MysqlExecutor::pass_by(std::span<const Op> ops) {
  const auto is_open = [](const Op &op) { return op.verb == Verb::open; };
  opens_ = std::min(opens_ + static_cast<size_t>(std::count_if(ops.begin(), ops.end(), is_open)), opening_.size());
}

bool MysqlExecutor::can_undo() const {
  return !cannot_be_undone(thd());
}

void MysqlExecutor::begin() {
  THD *const thd = this->thd();
  counters_->add(Counter::batches);
  order_.begin();
  thd->set_command(COM_QUERY);
  thd->set_query_id(next_query_id());
  thd->set_time();
  if (thd->killed) end_interruption(thd);  // KILL QUERY came when there was none
  tables_.begin_batch();
  finder_.begin_batch(thd, lane_);
}

void MysqlExecutor::end_statement() {
  THD *const thd = this->thd();
  opening_.clear();
  thd->clear_error();
  thd->get_stmt_da()->reset_condition_info(thd);
  thd->mem_root->ClearForReuse();
}

void MysqlExecutor::end() {
  THD *const thd = this->thd();
  end_statement();
  thread_->show_text();
  thd->set_command(COM_SLEEP);
  if (thd->killed) end_interruption(thd);
}

bool MysqlExecutor::server_stopping() noexcept {
  if (!stopping_ && thread_->server_stopping()) stopping_ = true;
  if (stopping_ || !thread_->killed()) return stopping_;
  // KILL took the thread's identity, not the thread: its clients go on under a new one.
  renew();
  if (!stopping_) counters_->add(Counter::workers_restarted);
  return stopping_;
}

void MysqlExecutor::renew() {
  tables_.release_all();
  stopping_ = !thread_->renew();
  tables_.set_thd(thread_->thd());
}

std::unique_ptr<Executor> make_executor(std::unique_ptr<ServerThread> thread, Specs &specs, const ThreadIdentity &who,
                                        const std::atomic<bool> &stop) {
  return std::make_unique<MysqlExecutor>(std::move(thread), specs, who, stop);
}

}  // namespace postern::mysqld
