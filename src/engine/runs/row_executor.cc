#include "engine/server/server.h"

#include "engine/runs/row_executor.h"

#include <algorithm>
#include <ctime>
#include <new>
#include <utility>

#include "engine/server/differences.h"
#include "engine/server/failures.h"
#include "engine/server/interruption.h"
#include "engine/server/opening.h"

namespace postern::rows {
namespace {

/// Statements of sessions are not among them: each waits, or does not, as its own session has set it.
bool asks_for_tables(std::span<const Op> ops) {
  return std::any_of(ops.begin(), ops.end(), [](const Op &op) {
    return op.verb != Verb::statement && op.verb != Verb::answer && op.verb != Verb::login;
  });
}

constexpr int prepare_attempts_max = 3;

bool are_of_sessions(std::span<const Op> ops) {
  return std::all_of(ops.begin(), ops.end(), [](const Op &op) { return op.verb == Verb::statement; });
}

/// From when the process list shows it on, KILL ends a long script: also one that has not begun.
bool may_be_killed_already(const Run &run) {
  if (run.lane != Lane::alone || !run.units.empty()) return false;
  const Script *const script = script_of(run.ops[0]);
  return script != nullptr && script->may_last();
}

}  // namespace

void RowExecutor::describe(Bytes text) noexcept {
  if (thread_->killed()) static_cast<void>(server_stopping());
  else if (thd()->killed) end_interruption(thd());
  thread_->describe(text);
  just_described_ = true;
}

Settlement RowExecutor::run(const Run &run) {
  keeps_kill_ = std::exchange(just_described_, false) && may_be_killed_already(run);
  if (!keeps_kill_ && thread_->killed() && server_stopping()) return {.failure = Failure::stopping};
  ops_.set_lane(run.lane);
  answers_may_wait_ = run.answers_may_wait;
  if (lane() == Lane::alone && !run.units.empty()) return run_unit(run);
  if (lane() == Lane::alone && script_of(run.ops[0]) != nullptr) return run_script(run.ops[0]);
  if (are_of_sessions(run.ops)) return run_sessions(run);
  if (!write_any(run.ops)) return run_reading(run);
  return std::any_of(run.ops.begin(), run.ops.end(), suits_turn) ? run_statements(run) : run_writing(run);
}

void RowExecutor::idle() noexcept {
  tables_.go_idle();
  write_tables_.go_idle();
}

bool RowExecutor::server_stopping() noexcept {
  if (!stopping_ && thread_->server_stopping()) stopping_ = true;
  // KILL took the thread's identity, not the thread: its clients go on under a new one.
  if (!stopping_ && thread_->killed() && renew()) counters_->add(Counter::workers_restarted);
  return stopping_;
}

/// A unit that has the transaction to itself. An op that fails by itself is undone with all others, and these are run
/// again without it.
Settlement RowExecutor::run_unit(const Run &run) {
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

Settlement RowExecutor::run_reading(const Run &run) {
  Settlement settlement;
  begin(run.ops);
  try {
    for (int attempt = 0; attempt < prepare_attempts_max && !ops_.prepare(run.ops); ++attempt) {
    }
    tables_.lock_all(ops_.lookups());
    finder_.expect(ops_.lookups());
    execute_all(run, run.watcher);
  } catch (const std::bad_alloc &) {
    // A find in the slow lane may have sent a part of its reply, and its place with it.
    settlement = {.failure = Failure::out_of_memory, .repeatable = lane() == Lane::turn || order_.in_own_unit()};
  }
  tables_.unlock_all(Tables::Ending::commit);
  end_reading(settlement);
  if (!settlement.lasted() || tables_.must_close() || tables_.holds_much()) {
    tables_.release_all();
  } else if (tables_.any_open() && tables_.wanted_by_others()) {
    tables_.release_all();
    counters_->add(Counter::ddl_yields);
  }
  end();
  return settlement;
}

/// Statements of sessions run in the sessions' own THDs: this thread's has no statement of its own, and opens no table.
/// Its time is only shown, in the process list.
inline void RowExecutor::begin_sessions() {
  counters_->add(Counter::batches);
  if (thd()->killed) end_interruption(thd());  // KILL QUERY came when there was none
  if (const time_t now = ::time(nullptr); std::exchange(shown_time_, now) != now) thd()->set_time();
}

Settlement RowExecutor::run_sessions(const Run &run) {
  begin_sessions();
  order_.begin();
  Settlement settlement;
  try {
    execute_all(run, run.watcher);
  } catch (const std::bad_alloc &) {
    settlement = {.failure = Failure::out_of_memory, .repeatable = lane() == Lane::turn};
  }
  if (has_statements_left()) {
    begin_statement();
    end_reading(settlement);
    rest_after_statement();
  }
  if (thd()->killed) end_interruption(thd());
  return settlement;
}

void RowExecutor::run_command(Op &op, bool answer_may_wait) {
  op.progress = Progress::needs_own_run;
  if (thread_->killed() && server_stopping()) return;
  ops_.set_lane(Lane::turn);
  answers_may_wait_ = answer_may_wait;
  begin_sessions();
  op.progress = Progress::done;
  execute_statement(op);
  if (thd()->killed) end_interruption(thd());
}

/// All writes are one statement and one transaction.
Settlement RowExecutor::run_writing(const Run &run) {
  tables_.release_all();
  begin(run.ops);
  certification_.begin(thd());
  begin_row_waits();
  const Settlement settlement = run_statement(run);
  if (!settlement.lasted()) counters_->add(Counter::transactions_lost);
  certification_.end();
  end();
  return settlement;
}

void RowExecutor::begin_row_waits() {
  const bool alone = lane() == Lane::alone;
  writer_.begin_batch(thd(), alone, alone ? row_wait_ms() : 0, alone_row_wait_ms_);
}

/// Tables are opened and closed with it, those for reading too.
Settlement RowExecutor::run_statement(const Run &run) {
  const bool alone = lane() == Lane::alone;
  const bool locks_places =
      (alone || order_.in_own_unit()) &&
      std::any_of(run.ops.begin(), run.ops.end(), [](const Op &op) { return op.verb == Verb::lock; });
  // Under REPEATABLE READ the view of the first statement stays until one comes that is not.
  thread_->begin_writing(locks_places || one_view_);
  certification_.begin_statement();
  Settlement settlement;
  try {
    for (int attempt = 0; attempt < prepare_attempts_max; ++attempt) {
      write_tables_.begin(thd(), alone);
      if (ops_.prepare(run.ops)) break;
    }
    write_tables_.lock_all();
    // Consistent reads, although the statement is one that writes.
    thd()->lex->sql_command = SQLCOM_SELECT;
    tables_.lock_all(ops_.lookups());
    if (tentative_ && !write_tables_.can_undo_all()) run.ops[0].progress = Progress::needs_own_run;
    else execute_all(run, nullptr);
    bool undo = order_.in_own_unit() ? order_.ends() != sql::UnitEnds::commit : writer_.undo();
    if (!lost() && !undo && !writer_.store_held()) {
      undo = true;
      run.ops[0].progress = Progress::needs_own_run;
    }
    settlement = writer_.take_lost();
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
  certification_.end_statement(settlement);
  return settlement;
}

inline void RowExecutor::execute_next(Op &op) {
  if (op.verb != Verb::statement) return ops_.execute_next(op);
  op.progress = Progress::done;
  execute_statement(op);
}

void RowExecutor::execute_statement(Op &op) {
  op.progress = Progress::needs_own_run;
}

void RowExecutor::execute_all(const Run &run, Watcher *watcher) {
  ops_.begin_ops();
  order_.execute_all(run, watcher);
}

bool RowExecutor::can_undo() const {
  return !cannot_be_undone(thd());
}

void RowExecutor::begin(std::span<const Op> ops) {
  THD *const thd = this->thd();
  counters_->add(Counter::batches);
  order_.begin();
  begin_statement();
  if (thd->killed && !keeps_kill_) end_interruption(thd);  // KILL QUERY came when there was none
  tables_.begin_batch();
  ops_.begin_run(asks_for_tables(ops) && cluster_refuses_reads(thd));
  finder_.begin_batch(thd, lane());
}

void RowExecutor::end_statement() {
  ops_.end_statement();
  clear_statement(thd());
  thread_->show_text();
}

void RowExecutor::begin_statement() {
  THD *const thd = this->thd();
  thd->set_command(COM_QUERY);
  thd->set_query_id(next_query_id());
  thd->set_time();
  prepare_thread();
}

void RowExecutor::rest_after_statement() {
  end_statement();
  thd()->set_command(COM_SLEEP);
}

void RowExecutor::end() {
  rest_after_statement();
  if (thd()->killed) end_interruption(thd());
}

bool RowExecutor::renew() {
  tables_.release_all();
  if (!thread_->has_room_to_renew()) return false;  // it stays killed, and is asked again
  stopping_ = !thread_->renew();
  tables_.set_thd(thd());  // a new one, it may be, though the server goes down
  return !stopping_;
}

}  // namespace postern::rows
