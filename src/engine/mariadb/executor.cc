#include "engine/mariadb/basics/server.h"

#include "engine/runs/make_executor.h"

#include <algorithm>
#include <new>

#include "engine/mariadb/hosted/kept_thds.h"
#include "engine/mariadb/hosted/session.h"
#include "engine/mariadb/maria_executor.h"

namespace postern::mariadb {

/// The thread ends, so the server may shut down.
MariaExecutor::~MariaExecutor() {
  drop_kept_thds();
}

/// Gives up what other sessions wait for.
inline void MariaExecutor::yield() {
  if (plans_.empty() && reads_.empty()) return;
  const uint64_t now_us = microsecond_interval_timer();
  plans_.yield(now_us);
  reads_.yield(now_us);
}

Settlement MariaExecutor::run(const Run &run) {
  yield();
  return RowExecutor::run(run);
}

void MariaExecutor::run_command(Op &op, bool answer_may_wait) {
  yield();
  RowExecutor::run_command(op, answer_may_wait);
}

void MariaExecutor::idle() noexcept {
  plans_.give_up();
  reads_.give_up();
  rest();
}

int MariaExecutor::rest() noexcept {
  RowExecutor::idle();
  const uint64_t now_us = microsecond_interval_timer();
  const int plans_ms = plans_.rest(now_us);
  const int reads_ms = reads_.rest(now_us);
  return plans_ms != 0 && reads_ms != 0 ? std::min(plans_ms, reads_ms) : std::max(plans_ms, reads_ms);
}

void MariaExecutor::prepare_thread() {
  THD *const thd = this->thd();
  thread().show();
  thd->userstat_running = opt_userstat_running;
  if (!thread().globals().changed(thd)) return;
  tables().release_all();
  thread().globals().follow(thd);
}

/// Runs the writes of the run's sessions after everything else, in a transaction of this thread.
void MariaExecutor::end_reading(const Settlement &settlement) {
  if (!shared_.any()) return;
  if (!settlement.lasted()) return shared_.forget();
  tables().release_all();
  thread().begin_writing(false);
  shared_.run(
      thd(), [this] { give_up_all(); },
      [this](Op &op) {
        counters()->add(Counter::statements_fast);
        finish(op, Failure::none);
      });
  thread().end_writing();
  end_statement();
}

/// The thread acts as the session's own THD meanwhile. All sessions come from this engine. Memory that runs out ends
/// the session: if the run had to be repeated for it, other sessions' statements would be executed twice.
void MariaExecutor::execute_statement(Op &op) {
  const Statement &statement = *op.statement;
  auto *const session = static_cast<HostedSession *>(statement.session);
  if (lane() != Lane::turn || session == nullptr) {
    op.progress = Progress::needs_own_run;
    return;
  }
  const Output::Mark answer = statement.output != nullptr ? statement.output->mark() : 0;
  try {
    execute_statement(op, *session);
  } catch (const std::bad_alloc &) {
    counters()->add(Failure::out_of_memory);
    if (statement.output != nullptr) statement.output->rewind_or_break(answer);
    session->break_off();
    finish(op, Failure::none);
  }
}

void MariaExecutor::execute_statement(Op &op, HostedSession &session) {
  const Statement &statement = *op.statement;
  if (!session.logged_in()) {
    if (session.log_in_in_turn(statement, *counters())) return finish(op, Failure::none);
    op.progress = Progress::needs_own_run;
    return;
  }
  home_.ready();
  const AnswerTools tools{.plans = &plans_,
                          .reads = &reads_,
                          .shared = &shared_,
                          .recent_texts = &recent_texts_,
                          .op = &op,
                          .counters = counters(),
                          .answer_may_wait = answers_may_wait()};
  if (!session.run_in_turn(statement, tools)) {
    op.progress = Progress::needs_own_run;
    return;
  }
  if (op.progress == Progress::waiting) return;
  counters()->add(Counter::statements_fast);
  finish(op, Failure::none);
}

}  // namespace postern::mariadb

namespace postern::rows {

std::unique_ptr<Executor> make_executor(std::unique_ptr<ServerThread> thread, sql::Specs &specs,
                                        engine::LoginNames names, const ThreadIdentity &who,
                                        const std::atomic<bool> &stop) {
  return std::make_unique<MariaExecutor>(std::move(thread), specs, names, who, stop);
}

}  // namespace postern::rows
