#include "engine/mysql/server.h"

#include "engine/mysql/executor.h"

#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "engine/mysql/failures.h"
#include "engine/mysql/table.h"
#include "engine/rows/bounds.h"
#include "engine/rows/find.h"
#include "engine/sql/run_order.h"

namespace postern::mysqld {
namespace {

constexpr int prepare_attempts_max = 3;

const ServerError not_here{"Not supported by this server: Postern only reads the tables of MySQL"};

Counter request_counter(Verb verb) {
  switch (verb) {
    case Verb::open: return Counter::requests_open;
    case Verb::find:
    case Verb::lock: return Counter::requests_find;
    case Verb::insert: return Counter::requests_insert;
    case Verb::edit: return Counter::requests_edit;
    case Verb::login: return Counter::logins_failed;
    case Verb::answer:
    case Verb::script:
    case Verb::statement: return Counter::requests_other;
  }
  return Counter::requests_other;
}

class MysqlExecutor final : public Executor {
 public:
  MysqlExecutor(std::unique_ptr<ServerThread> thread, Specs &specs, const ThreadIdentity &who,
                const std::atomic<bool> &stop)
      : thread_(std::move(thread)),
        specs_(specs),
        counters_(who.counters),
        access_(who.access),
        tables_(thread_->thd(), specs, who.counters),
        finder_(tables_, who.counters, stop) {}

  Settlement run(const Run &run) override;
  void idle() noexcept override { tables_.go_idle(); }
  bool server_stopping() noexcept override;
  int64_t row_wait_ms() noexcept override { return 0; }
  void describe(Bytes text) noexcept override { thread_->describe(text); }

 private:
  using Order = sql::RunOrder<MysqlExecutor>;
  friend Order;

  // RunOrder's hands.
  void execute_next(Op &op);
  void pass_by(std::span<const Op> ops);
  static bool lost() { return false; }
  static bool can_undo() { return true; }
  static bool write_any(std::span<const Op>) { return false; }  // each write fails by itself
  Counters *counters() const { return counters_; }

  Settlement run_reading(const Run &run);
  void begin();
  void end();
  void renew();

  bool prepare(std::span<Op> ops);
  TableState prepare(Op &op);
  void execute_open(Op &op);
  void execute_find(Op &op);
  bool usable(Op &op, const OpenTable *table);
  void refuse(Op &op, Failure failure, const ServerError &error = nothing_said);
  void finish(Op &op, Failure failure, const ServerError &error = nothing_said);

  // Declared first, so that it is destroyed last: tables_ closes through its THD.
  std::unique_ptr<ServerThread> thread_;
  Specs &specs_;
  Counters *const counters_;
  const Access access_;
  Tables tables_;
  Finder finder_;
  std::vector<sql::SpecUse> opening_;  // in the running batch, in order
  size_t opens_ = 0;                   // how many of those were executed or passed by
  size_t lookups_ = 0;                 // in the running batch
  Order order_{*this};
  Lane lane_ = Lane::turn;  // the running batch's
  bool stopping_ = false;
};

Settlement MysqlExecutor::run(const Run &run) {
  if (thread_->killed() && server_stopping()) return {.failure = Failure::stopping};
  if (thread_->has_old_globals()) renew();
  if (stopping_) return {.failure = Failure::stopping};
  lane_ = run.lane;
  std::optional<Order::OwnUnit> unit;
  try {
    if (lane_ == Lane::alone && !run.units.empty()) unit.emplace(order_, run.ops);
    return run_reading(run);
  } catch (const std::bad_alloc &) {
    return {.failure = Failure::out_of_memory};
  }
}

Settlement MysqlExecutor::run_reading(const Run &run) {
  Settlement settlement;
  begin();
  try {
    for (int attempt = 0; attempt < prepare_attempts_max && !prepare(run.ops); ++attempt) {
    }
    tables_.lock_all();
    finder_.expect(lookups_);
    opens_ = 0;
    order_.execute_all(run, run.watcher);
  } catch (const std::bad_alloc &) {
    // A find in the slow lane may have sent a part of its reply, and its place with it.
    settlement = {.failure = Failure::out_of_memory, .repeatable = lane_ == Lane::turn || order_.in_own_unit()};
  }
  tables_.unlock_all();
  if (!settlement.lasted() || tables_.holds_much()) {
    tables_.release_all();
  } else if (tables_.any_open() && tables_.wanted_by_others()) {
    tables_.release_all();
    counters_->add(Counter::ddl_yields);
  }
  end();
  return settlement;
}

void MysqlExecutor::begin() {
  THD *const thd = thread_->thd();
  counters_->add(Counter::batches);
  order_.begin();
  thd->set_command(COM_QUERY);
  thd->set_query_id(next_query_id());
  thd->set_time();
  if (thd->killed && !thread_->killed()) thd->killed = THD::NOT_KILLED;  // KILL QUERY came when there was none
  tables_.begin_batch();
  finder_.begin_batch(thd, lane_);
}

void MysqlExecutor::end() {
  THD *const thd = thread_->thd();
  opening_.clear();
  thd->clear_error();
  thd->get_stmt_da()->reset_condition_info(thd);
  thd->mem_root->ClearForReuse();
  thread_->show_text();
  thd->set_command(COM_SLEEP);
  if (thd->killed && !thread_->killed()) thd->killed = THD::NOT_KILLED;
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

/// Opens every table the ops need. False if all were given up on the way and must be opened again.
bool MysqlExecutor::prepare(std::span<Op> ops) {
  opening_.clear();
  lookups_ = 0;
  return std::none_of(ops.begin(), ops.end(), [this](Op &op) { return prepare(op) == TableState::again; });
}

TableState MysqlExecutor::prepare(Op &op) {
  if (op.verb == Verb::open) {
    opening_.emplace_back(specs_.use(*op.spec));
    Spec *const spec = opening_.back().get();
    if (spec == nullptr) return TableState::failed;
    const TableState state = tables_.prepare(spec, false).state;
    // Now, not when the op's turn comes: later finds in the batch need to know their tables.
    if (state == TableState::ready && !op.slot->filled()) op.slot->fill(specs_.use(*op.spec));
    return state;
  }
  if (op.verb != Verb::find) return TableState::ready;
  lookups_ += std::max<size_t>(op.find->in_list.size(), 1);
  Binding *const binding = op.slot->binding();
  if (binding == nullptr) return TableState::failed;
  return tables_.prepare(static_cast<Spec *>(binding), lane_ == Lane::alone || Bounds::needed(*op.find)).state;
}

void MysqlExecutor::pass_by(std::span<const Op> ops) {
  const auto is_open = [](const Op &op) { return op.verb == Verb::open; };
  opens_ = std::min(opens_ + static_cast<size_t>(std::count_if(ops.begin(), ops.end(), is_open)), opening_.size());
}

void MysqlExecutor::execute_next(Op &op) {
  op.progress = Progress::done;
  switch (op.verb) {
    case Verb::answer: {
      counters_->add(Counter::requests_other);
      const bool has_table = op.slot == nullptr || op.slot->binding() != nullptr;
      return finish(op, has_table ? op.failure : Failure::not_open);
    }
    case Verb::open: return execute_open(op);
    case Verb::find: return execute_find(op);
    case Verb::lock:
    case Verb::insert:
    case Verb::edit:
      if (access_ == Access::read) return refuse(op, Failure::read_only_door);
      return refuse(op, Failure::not_implemented, not_here);
    case Verb::statement: op.progress = Progress::needs_own_run; return;
    case Verb::script:
    case Verb::login: return refuse(op, Failure::not_implemented, not_here);
  }
}

/// Ops are executed, or passed by, in their order: so each open op finds the table that it opens.
void MysqlExecutor::execute_open(Op &op) {
  const Spec *const opening = opens_ < opening_.size() ? opening_[opens_++].get() : nullptr;
  if (opening == nullptr) {
    op.slot->clear();
    return refuse(op, Failure::out_of_memory);
  }
  if (!usable(op, tables_.prepared(opening))) {
    // Filled when an earlier run opened it; a slow lane later the table is gone.
    if (op.progress == Progress::done) op.slot->clear();
    return;
  }
  counters_->add(Counter::requests_open);
  finish(op, Failure::none);
}

void MysqlExecutor::execute_find(Op &op) {
  Binding *const binding = op.slot->binding();
  if (binding == nullptr) return refuse(op, Failure::not_open);
  OpenTable *const table = tables_.prepared(static_cast<Spec *>(binding));
  if (!usable(op, table)) return;
  finder_.run(op, *table);
  if (op.progress == Progress::done) counters_->add(Counter::requests_find);
}

/// False if the op cannot run on this table: it has failed, or is left for later.
bool MysqlExecutor::usable(Op &op, const OpenTable *table) {
  if (table == nullptr) {
    op.progress = Progress::busy;  // DDL took tables from under us again and again
    return false;
  }
  switch (table->state) {
    case TableState::ready: return true;
    case TableState::busy:
    case TableState::again: op.progress = Progress::busy; return false;
    case TableState::failed: break;
  }
  // KILL was meant for this thread's identity, not for the request.
  if (table->failure == Failure::interrupted && thread_->killed()) op.progress = Progress::busy;
  else refuse(op, table->failure, table->error);
  return false;
}

void MysqlExecutor::refuse(Op &op, Failure failure, const ServerError &error) {
  counters_->add(request_counter(op.verb));
  finish(op, failure, error);
}

void MysqlExecutor::finish(Op &op, Failure failure, const ServerError &error) {
  if (failure != Failure::none) count_failure(*counters_, op, failure);
  Outcome outcome;
  outcome.failure = failure;
  outcome.message = error.message;
  outcome.server_error = error.number;
  op.reply->done(outcome);
}

}  // namespace

std::unique_ptr<Executor> make_executor(std::unique_ptr<ServerThread> thread, sql::Specs &specs,
                                        const ThreadIdentity &who, const std::atomic<bool> &stop) {
  return std::make_unique<MysqlExecutor>(std::move(thread), specs, who, stop);
}

}  // namespace postern::mysqld
