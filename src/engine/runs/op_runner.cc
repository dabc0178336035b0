#include "engine/server/server.h"

#include "engine/runs/op_runner.h"

#include <algorithm>
#include <utility>

#include "engine/rows/bounds.h"
#include "engine/runs/login.h"
#include "engine/server/cluster.h"
#include "engine/server/failures.h"
#include "engine/server/opening.h"

namespace postern::rows {

bool OpRunner::prepare(std::span<Op> ops) {
  opening_.clear();
  lookups_ = 0;
  if (not_ready_) return true;
  if (lane_ == Lane::alone && write_any(ops)) prepare_writes_alone(ops);
  for (Op &op : ops) {
    TableState state = TableState::ready;
    if (op.verb == Verb::open) {
      sql::SpecUse use(specs_.use(*op.spec));
      opening_.push_back(std::move(use));
      if (opening_.back().get() == nullptr) continue;
    }
    if (op.identity != nullptr && !may_prepare(op)) continue;
    if (op.verb == Verb::open) {
      Spec *const spec = opening_.back().get();
      state = tools_.tables.prepare(spec, false).state;
      // Done now, not in the op's turn, because later finds in the batch need their tables.
      if (state == TableState::ready && !op.slot->filled()) op.slot->fill(specs_.use(*op.spec));
    } else if (op.verb == Verb::find) {
      lookups_ += std::max<size_t>(op.find->in_list.size(), 1);
      if (Binding *const binding = op.slot->binding())
        state =
            tools_.tables.prepare(static_cast<Spec *>(binding), lane_ == Lane::alone || Bounds::needed(*op.find)).state;
    } else if (access_ == Access::write && writes(op.verb) && op.verb != Verb::script && lane_ == Lane::turn) {
      if (Binding *const binding = op.slot->binding())
        state = tools_.write_tables.prepare(static_cast<Spec *>(binding), op.verb, [this] { give_up_all(); }).state;
    }
    if (state == TableState::again) return false;
  }
  return true;
}

/// Opens the tables that the ops write to, before any other: where one cannot be had all are closed again.
void OpRunner::prepare_writes_alone(std::span<Op> ops) {
  for (Op &op : ops) {
    if (!writes(op.verb) || (op.identity != nullptr && !may_prepare(op))) continue;
    if (Binding *const binding = op.slot->binding())
      tools_.write_tables.prepare(static_cast<Spec *>(binding), op.verb, [this] { give_up_all(); });
  }
  tools_.write_tables.open_listed();
}

/// Whether the op's account may know of its table.
bool OpRunner::may_prepare(const Op &op) {
  if (op.identity->account == nullptr) return false;
  const Spec *const spec = spec_of(op, opening_.empty() ? nullptr : opening_.back().get());
  return spec == nullptr || privileges_.allow(op, *spec, access_);
}

/// The open table of the op; nullptr for none. `opening`: the table that an open op opens.
const Spec *OpRunner::spec_of(const Op &op, const Spec *opening) {
  if (op.verb == Verb::open) return opening;
  if (op.verb == Verb::answer || op.verb == Verb::login || op.verb == Verb::script || op.verb == Verb::statement)
    return nullptr;
  return static_cast<const Spec *>(op.slot->binding());
}

/// False if the op has failed for its account's rights. `table`: the op's open table, or nullptr.
bool OpRunner::allowed(Op &op, const Spec *spec, const OpenTable *table) {
  if (op.identity->account == nullptr) {
    refuse(op, Failure::unauthorized);
    return false;
  }
  if (spec == nullptr) return true;
  const bool known = table != nullptr && table->state == TableState::ready;
  if (privileges_.allow(op, *spec, access_) && (!known || privileges_.allow_key(op, *spec, *table, access_)))
    return true;
  if (privileges_.busy()) op.progress = Progress::busy;
  else refuse(op, Failure::privilege_denied, privileges_.why(op, *spec, access_, known ? table : nullptr));
  return false;
}

void OpRunner::execute_next_open(Op &op) {
  if (opens_ == opening_.size()) return execute(op, nullptr);
  const Spec *const opening = opening_[opens_++].get();
  if (opening != nullptr) return execute(op, opening);
  op.progress = Progress::done;
  op.slot->clear();
  refuse(op, Failure::out_of_memory);
}

void OpRunner::pass_by(std::span<const Op> ops) {
  const auto is_open = [](const Op &op) { return op.verb == Verb::open; };
  opens_ = std::min(opens_ + static_cast<size_t>(std::count_if(ops.begin(), ops.end(), is_open)), opening_.size());
}

Failure OpRunner::refusal_of_script(const Op &op) const {
  if (not_ready_) return Failure::cluster_not_ready;
  if (op.identity != nullptr && op.identity->account == nullptr) return Failure::unauthorized;
  return access_ == Access::read ? Failure::read_only_door : Failure::none;
}

void OpRunner::execute_login(Op &op) {
  if (op.failure == Failure::none && lane_ == Lane::turn) {
    op.progress = Progress::needs_own_run;
    return;
  }
  op.identity->account.reset();
  if (op.failure != Failure::none) return refuse(op, op.failure);
  LoginOutcome outcome = log_in(thread_.thd(), *op.login, op.identity->peer, names_);
  op.identity->account = std::move(outcome.account);
  if (op.identity->account == nullptr) return refuse(op, Failure::unauthorized, outcome.error);
  op.identity->peer.note_account(std::move(outcome.name));
  counters_.add(Counter::logins);
  finish(op, Failure::none);
}

/// `opening`: the table that an open op opens.
void OpRunner::execute(Op &op, const Spec *opening) {
  op.progress = Progress::done;
  if (op.verb == Verb::login) return execute_login(op);
  if (not_ready_ && op.verb != Verb::answer) {
    if (op.verb == Verb::open) op.slot->clear();
    return refuse(op, Failure::cluster_not_ready, node_not_ready);
  }
  Binding *const binding = op.slot != nullptr ? op.slot->binding() : nullptr;
  if (op.identity != nullptr) {
    const Spec *const spec = spec_of(op, opening);
    if (!allowed(op, spec, spec != nullptr ? open_table(op, *spec) : nullptr)) {
      if (op.verb == Verb::open && op.progress == Progress::done) op.slot->clear();
      return;
    }
  }
  switch (op.verb) {
    case Verb::answer:
      counters_.add(Counter::requests_other);
      return finish(op, op.slot != nullptr && binding == nullptr ? Failure::not_open : op.failure);
    case Verb::open: return execute_open(op, opening);
    case Verb::find: {
      if (binding == nullptr) return refuse(op, Failure::not_open);
      OpenTable *const table = tools_.tables.prepared(static_cast<Spec *>(binding));
      if (!usable(op, table)) return;
      if (!tools_.writer.store_held()) {
        op.progress = Progress::needs_own_run;
        return;
      }
      tools_.finder.run(op, *table);
      if (op.progress == Progress::done) counters_.add(Counter::requests_find);
      return;
    }
    case Verb::script: op.progress = Progress::needs_own_run; return;
    case Verb::lock:
    case Verb::insert:
    case Verb::edit: {
      if (access_ == Access::read) return refuse(op, Failure::read_only_door);
      if (binding == nullptr) return refuse(op, Failure::not_open);
      OpenTable *const table = tools_.write_tables.prepared(static_cast<Spec *>(binding));
      if (usable(op, table)) tools_.writer.run(op, *table);
      if (op.progress == Progress::done) static_cast<Spec *>(binding)->counts()->add(0, 0, 1);
      return;
    }
    case Verb::login:
    case Verb::statement: return;
  }
}

const OpenTable *OpRunner::open_table(const Op &op, const Spec &spec) {
  return access_ == Access::write && writes(op.verb) ? tools_.write_tables.prepared(&spec)
                                                     : tools_.tables.prepared(&spec);
}

Counter OpRunner::request_counter(Verb verb) {
  switch (verb) {
    case Verb::answer: return Counter::requests_other;
    case Verb::open: return Counter::requests_open;
    case Verb::find:
    case Verb::lock: return Counter::requests_find;
    case Verb::script: return Counter::requests_other;
    case Verb::insert: return Counter::requests_insert;
    case Verb::edit: return Counter::requests_edit;
    case Verb::login: return Counter::logins_failed;
    case Verb::statement: return Counter::statements_fast;
  }
  return Counter::requests_other;
}

void OpRunner::refuse_script(Op &op, Failure why) {
  refuse(op, why, not_ready_ ? node_not_ready : nothing_said);
}

void OpRunner::refuse(Op &op, Failure failure, const ServerError &error) {
  counters_.add(request_counter(op.verb));
  finish(op, failure, error);
}

void OpRunner::give_up_all() {
  tools_.tables.close_all();
  tools_.write_tables.close();
  release_locks(thread_.thd());
}

void OpRunner::execute_open(Op &op, const Spec *opening) {
  const OpenTable *const table = opening != nullptr ? tools_.tables.prepared(opening) : nullptr;
  if (!usable(op, table)) {
    // Filled by an earlier run; meanwhile the table was dropped.
    if (op.progress == Progress::done) op.slot->clear();
    return;
  }
  counters_.add(Counter::requests_open);
  finish(op, Failure::none);
}

/// The op cannot run on this table: it fails, or is left for later.
void OpRunner::give_up(Op &op, const OpenTable *table) {
  if (table == nullptr) {
    op.progress = Progress::busy;  // DDL took the tables away again and again
    return;
  }
  switch (table->state) {
    case TableState::ready: return;
    case TableState::busy:
    case TableState::again: op.progress = Progress::busy; return;
    case TableState::failed:
      if (table->failure == Failure::interrupted && thread_.killed()) {
        op.progress = Progress::busy;  // meant for this thread's identity, not for the request
        return;
      }
      refuse(op, table->failure, table->error);
      return;
  }
}

void OpRunner::finish(Op &op, Failure failure, const ServerError &error) {
  if (failure != Failure::none) count_failure(counters_, op, failure);
  Outcome outcome;
  outcome.failure = failure;
  outcome.message = error.message;
  outcome.server_error = error.number;
  op.reply->done(outcome);
}

}  // namespace postern::rows
