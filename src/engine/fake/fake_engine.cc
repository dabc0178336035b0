#include "engine/fake/fake_engine.h"

#include <unistd.h>

#include <array>
#include <new>

#include "engine/fake/fake_executor.h"

namespace postern {

/// Whether row `a` comes before row `b` in an index: by its columns, then by the first index, then by age.
bool FakeEngine::Table::before(const Order &order, uint32_t a, uint32_t b) const {
  for (const Order *by : {&order, orders.data()}) {
    for (const uint32_t column : by->columns) {
      const int result = compare(rows[a][column], rows[b][column], columns[column].type);
      if (result != 0) return result < 0;
    }
  }
  return a < b;
}

void FakeEngine::Table::list(uint32_t row) {
  for (Order &order : orders) {
    const auto less = [&](uint32_t a, uint32_t b) { return before(order, a, b); };
    order.rows.insert(std::upper_bound(order.rows.begin(), order.rows.end(), row, less), row);
  }
}

void FakeEngine::Table::unlist(uint32_t row) {
  for (Order &order : orders) std::erase(order.rows, row);
}

const FakeEngine::Table::Order *FakeEngine::Table::primary() const {
  for (const Order &order : orders)
    if (order.index.name == "PRIMARY") return &order;
  return nullptr;
}

/// Another listed row with the same primary key.
std::optional<uint32_t> FakeEngine::Table::same_primary(uint32_t row) const {
  const Order *const order = primary();
  if (order == nullptr) return {};
  for (const uint32_t other : order->rows) {
    const bool same = other != row && std::all_of(order->columns.begin(), order->columns.end(), [&](uint32_t column) {
                        return compare(rows[other][column], rows[row][column], columns[column].type) == 0;
                      });
    if (same) return other;
  }
  return {};
}

FakeExecutor::~FakeExecutor() {
  set_holding(false);
  const std::unique_lock lock(engine_.mutex_);
  std::erase(engine_.executors_, this);
}

void FakeExecutor::set_holding(bool holding) {
  if (holding == holding_) return;
  holding_ = holding;
  engine_.busy_executors_ += holding ? 1 : -1;
}

Settlement FakeExecutor::run(const Run &run) {
  const bool writing = std::any_of(run.ops.begin(), run.ops.end(), [](const Op &op) { return writes(op.verb); });
  if (writing) {
    const std::unique_lock lock(engine_.mutex_);
    return run_or_undo(run, true);
  }
  const std::shared_lock lock(engine_.mutex_);
  return run_or_undo(run, false);
}

Settlement FakeExecutor::run_or_undo(const Run &run, bool writing) {
  try {
    return run_locked(run, writing);
  } catch (const std::bad_alloc &) {
    undo_to(0);
    return {.failure = Failure::out_of_memory, .repeatable = writing || run.lane == Lane::turn};
  }
}

Settlement FakeExecutor::run_locked(const Run &run, bool writing) {
  set_holding(true);
  in_step_ = false;
  stuck_.clear();
  batch_rows_ = 0;
  lane_ = run.lane;
  const Unit *unit = run.units.data();
  const Unit *const units_end = unit + run.units.size();
  for (size_t at = 0; at != run.ops.size();) {
    const bool is_unit = unit != units_end && unit->first == at;
    const std::span<Op> ops = run.ops.subspan(at, is_unit ? unit->count : 1);
    at += ops.size();
    if (is_unit) {
      execute_unit(ops, unit++->atomic);
    } else if (is_stuck(ops[0])) {
      ops[0].progress = Progress::waiting;
    } else {
      if (Script *const script = lane_ == Lane::alone ? script_of(ops[0]) : nullptr) execute_script(ops[0], *script);
      else execute(ops[0]);
      if (ops[0].progress != Progress::done) stuck_.push_back(ops[0].connection);
    }
    if (ops[0].progress != Progress::done || run.watcher == nullptr || writing) continue;
    for (const Op &op : ops) run.watcher->op_done(op);
  }
  if (who_.counters != nullptr) who_.counters->add(Counter::batches);
  const bool lost = writing && chance(faults_.lost);
  if (lost) undo_to(0);
  undo_.clear();
  if (lost) {
    return {.failure = Failure::engine_error,
            .engine_code = deadlock_code,
            .message = "Deadlock found",
            .server_error = {1213, "40001"}};
  }
  return {};
}

bool FakeExecutor::is_stuck(const Op &op) const {
  return std::find(stuck_.begin(), stuck_.end(), op.connection) != stuck_.end();
}

void FakeExecutor::leave(std::span<Op> ops, Progress progress) {
  for (Op &op : ops) op.progress = Progress::waiting;
  ops[0].progress = progress;
  stuck_.push_back(ops[0].connection);
}

void FakeExecutor::execute_unit(std::span<Op> ops, bool atomic) {
  if (is_stuck(ops[0])) return leave(ops, Progress::waiting);
  const bool writing = std::any_of(ops.begin(), ops.end(), [](const Op &op) { return writes(op.verb); });
  if (shares() && writing) return leave(ops, Progress::needs_own_run);
  UnitReplies replies(ops);
  const size_t mark = undo_.size();
  for (size_t i = 0; i < ops.size(); ++i) {
    execute(ops[i]);
    if (const Progress left = ops[i].progress; left != Progress::done) {
      undo_to(mark);
      replies.restart();
      return leave(ops, left == Progress::busy || left == Progress::locked ? left : Progress::needs_own_run);
    }
    if (atomic && replies.failed(i)) {
      undo_to(mark);
      return replies.fail_all(i, who_.counters);
    }
  }
}

void FakeExecutor::execute_script(Op &op, Script &script) {
  const size_t begin = undo_.size();
  std::array<size_t, Script::depths> marks{begin, begin};
  const auto leave = [&](Progress progress) {
    undo_to(begin);
    op.progress = progress;
  };
  if (lane_ == Lane::turn && !script.suits_turn()) return leave(Progress::needs_own_run);
  using What = Script::Step::What;
  for (Script::Step step = script.begin(); step.what != What::commit; step = script.next()) {
    switch (step.what) {
      case What::mark: marks[step.depth] = undo_.size(); continue;
      case What::back: undo_to(marks[step.depth]); continue;
      case What::alone:
        if (lane_ == Lane::turn) return leave(Progress::needs_own_run);
        continue;
      case What::undo: undo_to(begin); return finish(op, {});
      case What::commit:
      case What::run: break;
    }
    if (step.ops.empty()) continue;
    for (Op &one : step.ops) {
      one.identity = one.internal ? nullptr : op.identity;
      one.connection = op.connection;
    }
    in_step_ = true;
    execute_unit(step.ops, true);
    in_step_ = false;
    if (const Progress left = step.ops[0].progress; left != Progress::done) return leave(left);
  }
  finish(op, {});
}

void FakeExecutor::execute(Op &op) {
  if (op.verb == Verb::login) return log_in(op);
  if (op.verb == Verb::statement) {
    op.progress = Progress::needs_own_run;
    return;
  }
  if (op.identity != nullptr) {
    const Failure failure = check(op);
    if (failure != Failure::none) return finish(op, {.failure = failure});
  }
  switch (op.verb) {
    case Verb::answer: {
      const bool lost = op.slot != nullptr && op.slot->binding() == nullptr;
      return finish(op, {.failure = lost ? Failure::not_open : op.failure});
    }
    case Verb::open: return open(op);
    case Verb::find: return find(op);
    case Verb::lock: return lock(op);
    case Verb::insert:
    case Verb::edit: return write(op);
    case Verb::script: return execute_script(op, *op.script);
    case Verb::login:
    case Verb::statement: return;
  }
}

void FakeExecutor::log_in(Op &op) {
  if (op.failure == Failure::none && lane_ == Lane::turn) {
    op.progress = Progress::needs_own_run;
    return;
  }
  op.identity->account.reset();
  if (op.failure != Failure::none) return finish(op, {.failure = op.failure});
  const auto found = engine_.accounts_.find(op.login->user);
  if (found == engine_.accounts_.end() || found->second.password != op.login->password)
    return finish(op, {.failure = Failure::unauthorized});
  op.identity->account = std::make_shared<FakeAccount>(op.login->user);
  finish(op, {});
}

/// Whether the op's account may do it.
Failure FakeExecutor::check(const Op &op) const {
  if (op.identity->account == nullptr) return Failure::unauthorized;
  if (op.verb == Verb::answer || op.verb == Verb::script) return Failure::none;
  const auto found = engine_.accounts_.find(static_cast<const FakeAccount &>(*op.identity->account).user);
  if (found == engine_.accounts_.end()) return Failure::privilege_denied;
  const Binding *const binding = op.verb == Verb::open ? nullptr : op.slot->binding();
  if (op.verb != Verb::open && binding == nullptr) return Failure::none;
  const TableSpec &spec = binding != nullptr ? binding->spec() : *op.spec;
  return found->second.tables.contains(table_key(spec.database, spec.table)) ? Failure::none
                                                                             : Failure::privilege_denied;
}

void FakeExecutor::finish(Op &op, Outcome outcome) {
  op.progress = Progress::done;
  if (Counters *const counters = who_.counters) {
    counters->add(op.verb == Verb::open     ? Counter::requests_open
                  : op.verb == Verb::find   ? Counter::requests_find
                  : op.verb == Verb::lock   ? Counter::requests_find
                  : op.verb == Verb::insert ? Counter::requests_insert
                  : op.verb == Verb::edit   ? Counter::requests_edit
                  : op.verb == Verb::login  ? Counter::logins
                                            : Counter::requests_other);
    counters->add(Counter::rows_sent, outcome.rows);
    if (outcome.failure != Failure::none) count_failure(*counters, op, outcome.failure);
  }
  op.reply->done(outcome);
}

FakeExecutor::Resolved FakeExecutor::resolve(const TableSpec &spec) const {
  Resolved at;
  at.version = engine_.version_;
  const auto fail = [&at](Failure failure, std::string message) {
    at.failure = failure;
    at.message = std::move(message);
    return at;
  };
  const std::string name = std::string(spec.database) + '.' + std::string(spec.table);
  if (is_system_schema(spec.database)) return fail(Failure::system_schema, {});
  // No table there has an index, and clients have always got this answer.
  if (spec.database == "performance_schema") return fail(Failure::no_index, {});
  const auto found = engine_.tables_.find(table_key(spec.database, spec.table));
  if (found == engine_.tables_.end()) return fail(Failure::no_table, "Table '" + name + "' doesn't exist");
  at.table = found->second.get();
  if (at.table->kind != FakeEngine::Kind::base)
    return fail(Failure::not_a_base_table, "'" + name + "' is not a base table");

  for (const Table::Order &order : at.table->orders) {
    if (same_name(order.index.name, spec.index)) at.order = &order;
  }
  const bool by_position =
      spec.index_position >= 0 && static_cast<size_t>(spec.index_position) < at.table->orders.size();
  if (at.order == nullptr && by_position) at.order = &at.table->orders[static_cast<size_t>(spec.index_position)];
  if (at.order == nullptr) return fail(Failure::no_index, "No index '" + std::string(spec.index) + "' in " + name);
  if (!at.order->index.usable) return fail(Failure::index_unusable, {});

  std::string missing;
  const auto collect = [&](std::span<const Bytes> names, std::vector<uint32_t> &columns) {
    const std::vector<FakeEngine::Column> &all = at.table->columns;
    for (const Bytes wanted : names) {
      const auto column =
          std::find_if(all.begin(), all.end(), [&](const auto &one) { return same_name(one.name, wanted); });
      if (column == all.end()) {
        missing = wanted;
        return false;
      }
      columns.push_back(static_cast<uint32_t>(column - all.begin()));
    }
    return true;
  };
  if (!collect(spec.columns, at.columns) || !collect(spec.filter_columns, at.filter_columns))
    return fail(Failure::no_column, "Unknown column '" + missing + "' in " + name);
  if (spec.key_columns != 0) {
    const std::vector<uint32_t> &parts = at.order->columns;
    const bool is_the_key =
        at.order->index.name == "PRIMARY" && parts.size() == spec.key_columns && parts.size() <= at.columns.size() &&
        std::equal(parts.begin(), parts.end(), at.columns.begin()) &&
        std::none_of(parts.begin(), parts.end(), [&](uint32_t column) { return at.table->columns[column].nullable; });
    if (!is_the_key) return fail(Failure::index_not_the_key, {});
  }
  return at;
}

const FakeExecutor::Resolved &FakeExecutor::resolve(const FakeBinding &binding) {
  if (resolved_.size() > 4'096) resolved_.clear();
  Resolved &at = resolved_[binding.serial()];
  if (at.version != engine_.version_) at = resolve(binding.spec());
  return at;
}

const FakeExecutor::Resolved *FakeExecutor::usable_by(Op &op) {
  const Binding *const binding = op.slot->binding();
  if (binding == nullptr) {
    finish(op, {.failure = Failure::not_open});
    return nullptr;
  }
  const Resolved &at = resolve(static_cast<const FakeBinding &>(*binding));
  if ((at.table != nullptr && at.table->busy) || chance(faults_.busy)) {
    op.progress = Progress::busy;
    return nullptr;
  }
  if (at.failure != Failure::none) {
    finish(op, {.failure = at.failure, .message = at.message});
    return nullptr;
  }
  if (at.table->engine_error != 0) {
    finish(op, {.failure = Failure::engine_error, .engine_code = at.table->engine_error});
    return nullptr;
  }
  return &at;
}

void FakeExecutor::open(Op &op) {
  const Resolved at = resolve(*op.spec);
  if ((at.table != nullptr && at.table->busy) || chance(faults_.busy)) {
    op.progress = Progress::busy;
    return;
  }
  op.slot->clear();  // it may have run before
  if (at.failure == Failure::none) op.slot->fill(new FakeBinding(*op.spec, engine_.bindings_));
  finish(op, {.failure = at.failure, .message = at.message});
}

FakeEngine::FakeEngine() = default;
FakeEngine::~FakeEngine() = default;

std::unique_ptr<Executor> FakeEngine::attach(const ThreadIdentity &who, const std::atomic<bool> &stop) {
  const std::unique_lock lock(mutex_);
  if (stopping_ || stop.load()) return nullptr;
  auto executor = std::make_unique<FakeExecutor>(*this, who, faults_);
  ++faults_.seed;  // the next one misbehaves in its own way
  executors_.push_back(executor.get());
  return executor;
}

void FakeEngine::create(Bytes database, Bytes name, std::vector<Column> columns, std::vector<Index> indexes,
                        Kind kind) {
  const std::unique_lock lock(mutex_);
  auto table = std::make_unique<Table>();
  table->serial = ++version_;
  table->kind = kind;
  table->columns = std::move(columns);
  for (Index &index : indexes) {
    Table::Order order;
    for (const std::string &wanted : index.columns) {
      for (uint32_t i = 0; i < table->columns.size(); ++i) {
        if (table->columns[i].name == wanted) order.columns.push_back(i);
      }
    }
    order.index = std::move(index);
    table->orders.push_back(std::move(order));
  }
  tables_[table_key(database, name)] = std::move(table);
}

template <class Change>
void FakeEngine::change(Bytes database, Bytes table, Change change) {
  const std::unique_lock lock(mutex_);
  const auto found = tables_.find(table_key(database, table));
  if (found != tables_.end()) change(*found->second);
}

void FakeEngine::insert(Bytes database, Bytes name, const std::vector<Cell> &cells) {
  change(database, name, [&cells](Table &table) {
    const auto number = static_cast<uint32_t>(table.rows.size());
    std::vector<StoredCell> &row = table.rows.emplace_back(table.columns.size());
    for (size_t i = 0; i < table.columns.size() && i < cells.size(); ++i) {
      if (cells[i] && !store(Bytes(*cells[i]), table.columns[i].type, row[i])) row[i] = {};
    }
    table.list(number);
  });
}

std::vector<std::vector<FakeEngine::Cell>> FakeEngine::rows(Bytes database, Bytes name) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::vector<Cell>> all;
  const auto found = tables_.find(table_key(database, name));
  if (found == tables_.end()) return all;
  const Table &table = *found->second;
  for (const uint32_t number : table.orders.front().rows) {
    std::vector<Cell> &cells = all.emplace_back();
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const StoredCell &cell = table.rows[number][i];
      const Type type = table.columns[i].type;
      if (cell.null) cells.emplace_back();
      else if (type == Type::integer) cells.emplace_back(std::to_string(cell.number));
      else cells.emplace_back(type == Type::natural ? std::to_string(cell.natural) : cell.text);
    }
  }
  return all;
}

void FakeEngine::drop(Bytes database, Bytes table) {
  const std::unique_lock lock(mutex_);
  tables_.erase(table_key(database, table));
  ++version_;
}

void FakeEngine::rename_column(Bytes database, Bytes name, Bytes from, Bytes to) {
  change(database, name, [&](Table &table) {
    for (Column &column : table.columns) {
      if (column.name == from) column.name = to;
    }
    ++version_;
  });
}

void FakeEngine::create_account(Bytes user, Bytes password) {
  const std::unique_lock lock(mutex_);
  accounts_[std::string(user)] = {.password = std::string(password), .tables = {}};
}

void FakeEngine::drop_account(Bytes user) {
  const std::unique_lock lock(mutex_);
  accounts_.erase(std::string(user));
}

void FakeEngine::allow(Bytes user, Bytes database, Bytes table) {
  const std::unique_lock lock(mutex_);
  accounts_[std::string(user)].tables.insert(table_key(database, table));
}

void FakeEngine::forbid(Bytes user, Bytes database, Bytes table) {
  const std::unique_lock lock(mutex_);
  accounts_[std::string(user)].tables.erase(table_key(database, table));
}

void FakeEngine::set_busy(Bytes database, Bytes name, bool busy) {
  change(database, name, [busy](Table &table) { table.busy = busy; });
}

void FakeEngine::set_engine_error(Bytes database, Bytes name, int32_t code) {
  change(database, name, [code](Table &table) { table.engine_error = code; });
}

void FakeEngine::set_faults(const Faults &faults) {
  const std::unique_lock lock(mutex_);
  faults_ = faults;
}

void FakeEngine::stop() {
  const std::unique_lock lock(mutex_);
  stopping_ = true;
  for (FakeExecutor *const executor : executors_) executor->stop();
}

}  // namespace postern
