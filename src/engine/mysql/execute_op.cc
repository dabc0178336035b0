#include "engine/mysql/server.h"

#include <algorithm>

#include "engine/mysql/failures.h"
#include "engine/mysql/mysql_executor.h"
#include "engine/rows/bounds.h"

namespace postern::mysqld {
namespace {

const ServerError not_here{"Not supported by this server: Postern has no accounts and no sessions of MySQL"};

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

}  // namespace

/// Opens every table the ops need. False if all were given up on the way and must be opened again.
bool MysqlExecutor::prepare(std::span<Op> ops) {
  opening_.clear();
  lookups_ = 0;
  if (lane_ == Lane::alone && write_any(ops)) prepare_writes_alone(ops);
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
  if (op.verb == Verb::find) {
    lookups_ += std::max<size_t>(op.find->in_list.size(), 1);
    Binding *const binding = op.slot->binding();
    if (binding == nullptr) return TableState::failed;
    return tables_.prepare(static_cast<Spec *>(binding), lane_ == Lane::alone || Bounds::needed(*op.find)).state;
  }
  if (access_ != Access::write || !writes(op.verb) || op.verb == Verb::script || lane_ != Lane::turn)
    return TableState::ready;
  Binding *const binding = op.slot->binding();
  if (binding == nullptr) return TableState::failed;
  return write_tables_.prepare(static_cast<Spec *>(binding), op.verb, [this] { give_up_all(); }).state;
}

/// Opens the tables that the ops write to, before any other: where one cannot be had all are closed again.
void MysqlExecutor::prepare_writes_alone(std::span<Op> ops) {
  for (Op &op : ops) {
    if (!writes(op.verb)) continue;
    if (Binding *const binding = op.slot->binding())
      write_tables_.prepare(static_cast<Spec *>(binding), op.verb, [this] { give_up_all(); });
  }
  write_tables_.open_listed();
}

/// `opening`: what an open op opens.
void MysqlExecutor::execute(Op &op, const Spec *opening) {
  op.progress = Progress::done;
  switch (op.verb) {
    case Verb::answer: {
      counters_->add(Counter::requests_other);
      const bool has_table = op.slot == nullptr || op.slot->binding() != nullptr;
      return finish(op, has_table ? op.failure : Failure::not_open);
    }
    case Verb::open: return execute_open(op, opening);
    case Verb::find: return execute_find(op);
    case Verb::lock:
    case Verb::insert:
    case Verb::edit: return execute_write(op);
    case Verb::script:
    case Verb::statement: op.progress = Progress::needs_own_run; return;
    case Verb::login: return refuse(op, Failure::not_implemented, not_here);
  }
}

void MysqlExecutor::execute_open(Op &op, const Spec *opening) {
  if (!usable(op, opening != nullptr ? tables_.prepared(opening) : nullptr)) {
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

void MysqlExecutor::execute_write(Op &op) {
  if (access_ == Access::read) return refuse(op, Failure::read_only_door);
  Binding *const binding = op.slot->binding();
  if (binding == nullptr) return refuse(op, Failure::not_open);
  OpenTable *const table = write_tables_.prepared(static_cast<Spec *>(binding));
  if (usable(op, table)) writer_.run(op, *table);
  if (op.progress == Progress::done) static_cast<Spec *>(binding)->counts()->add(0, 0, 1);
}

/// The server wants every table closed before it opens one.
void MysqlExecutor::give_up_all() {
  tables_.close_all();
  write_tables_.close();
  release_locks(thd());
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

}  // namespace postern::mysqld
