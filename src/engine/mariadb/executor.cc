#include "engine/mariadb/server.h"

#include "engine/mariadb/executor.h"

#include <algorithm>
#include <new>
#include <optional>

#include "base/limits.h"
#include "contract/script.h"
#include "contract/unit_replies.h"
#include "engine/mariadb/bounds.h"
#include "engine/mariadb/cluster.h"
#include "engine/mariadb/failures.h"
#include "engine/mariadb/find.h"
#include "engine/mariadb/hosted_session.h"
#include "engine/mariadb/login.h"
#include "engine/mariadb/privileges.h"
#include "engine/sql/specs.h"
#include "engine/mariadb/table.h"
#include "engine/mariadb/thread.h"
#include "engine/mariadb/write_tables.h"
#include "engine/mariadb/writer.h"

namespace postern::mariadb {
namespace {

class MariaExecutor final : public Executor {
 public:
  MariaExecutor(std::unique_ptr<ServerThread> thread, Specs &specs, engine::LoginNames names, const ThreadIdentity &who,
                const std::atomic<bool> &stop)
      : thread_(std::move(thread)),
        names_(names),
        specs_(specs),
        counters_(who.counters),
        access_(who.access),
        tables_(thread_->thd(), specs, who.counters, [this] { give_up_all(); }),
        stop_(stop),
        finder_(tables_, who.counters, stop),
        write_tables_(specs, who.counters),
        writer_(who.counters, thread_->row_wait(), stop) {}

  Settlement run(const Run &run) override {
    if (thread_->killed() && server_stopping()) return {.failure = Failure::stopping};
    lane_ = run.lane;
    if (lane_ == Lane::alone && !run.units.empty()) return run_unit(run);
    if (lane_ == Lane::alone && script_of(run.ops[0]) != nullptr) return run_script(run.ops[0]);
    if (!write_any(run.ops)) return run_reading(run);
    return std::any_of(run.ops.begin(), run.ops.end(), suits_turn) ? run_statements(run) : run_writing(run);
  }

  void idle() noexcept override {
    tables_.go_idle();
    write_tables_.go_idle();
  }

  bool server_stopping() noexcept override {
    if (!stopping_ && thread_->server_stopping()) stopping_ = true;
    if (!stopping_ && thread_->killed()) renew();
    return stopping_;
  }

  int64_t row_wait_ms() noexcept override { return thread_->row_wait_ms(); }

  void allow_row_wait(int ms) noexcept override { alone_row_wait_ms_ = ms; }

  void describe(Bytes text) noexcept override { thread_->describe(text); }

 private:
  static constexpr int prepare_attempts_max = 3;
  enum class UnitEnds : uint8_t { commit, roll_back, run_again };

  THD *thd() const { return thread_->thd(); }

  bool write_any(std::span<const Op> ops) const {
    return access_ == Access::write &&
           std::any_of(ops.begin(), ops.end(), [](const Op &op) { return writes(op.verb); });
  }

  /// A unit that has the transaction to itself. An op that fails by itself is undone with all others, and these are run
  /// again without it.
  Settlement run_unit(const Run &run) {
    std::optional<UnitReplies> replies;
    try {
      replies.emplace(run.ops);
    } catch (const std::bad_alloc &) {
      return {.failure = Failure::out_of_memory};
    }
    unit_ = &*replies;
    const bool writing = write_any(run.ops);
    Settlement settlement;
    do {
      unit_ends_ = UnitEnds::commit;
      settlement = writing ? run_writing(run) : run_reading(run);
    } while (unit_ends_ == UnitEnds::run_again && settlement.lasted());
    unit_ = nullptr;
    return settlement;
  }

  Settlement run_reading(const Run &run) {
    Settlement settlement;
    begin();
    try {
      for (int attempt = 0; attempt < prepare_attempts_max && !prepare(run.ops); ++attempt) {
      }
      tables_.lock_all(lookups_);
      finder_.expect(lookups_);
      execute_all(run, run.watcher);
    } catch (const std::bad_alloc &) {
      // A find in the slow lane may have sent a part of its reply, and its place with it.
      settlement = {.failure = Failure::out_of_memory, .repeatable = lane_ == Lane::turn || unit_ != nullptr};
    }
    tables_.unlock_all(Tables::Ending::commit);
    if (!settlement.lasted() || tables_.must_close() || tables_.holds_much()) {
      tables_.release_all();
    } else if (tables_.any_open() && tables_.wanted_by_others()) {
      tables_.release_all();
      counters_->add(Counter::ddl_yields);
    }
    end();
    return settlement;
  }

  /// All writes are one statement and one transaction.
  Settlement run_writing(const Run &run) {
    tables_.release_all();
    begin();
    certification_.begin(thd());
    begin_row_waits();
    const Settlement settlement = run_statement(run);
    if (!settlement.lasted()) counters_->add(Counter::transactions_lost);
    certification_.end();
    end();
    return settlement;
  }

  /// The steps are statements of one transaction.
  Settlement run_script(Op &op) {
    tables_.release_all();
    begin();
    Settlement settlement;
    op.progress = Progress::done;
    if (const Failure why = refusal_of_script(op); why != Failure::none) {
      refuse(op, why, not_ready_ ? node_not_ready : nothing_said);
    } else {
      begin_row_waits();
      write_tables_.begin_script(thd(), certification_);
      bool undo = false;
      settlement = run_steps(op, undo);
      const bool left = op.progress != Progress::done;
      // What is left for later would be done twice.
      if (settlement.lasted() && left && cannot_be_undone(thd()))
        settlement = {.failure = Failure::table_busy, .repeatable = false};
      write_tables_.end_script(thd(), certification_, settlement, left || undo);
    }
    if (!settlement.lasted()) counters_->add(Counter::transactions_lost);
    end();
    return settlement;
  }

  static bool suits_turn(const Op &op) { return op.verb == Verb::script && op.script->suits_turn(); }

  /// Scripts in a turn: they, and the ops that stand between them, are statements of one transaction.
  Settlement run_statements(const Run &run) {
    tables_.release_all();
    begin();
    begin_row_waits();
    write_tables_.begin_script(thd(), certification_);
    Settlement settlement;
    try {
      for (size_t at = 0; at != run.ops.size() && settlement.lasted();) {
        if (suits_turn(run.ops[at])) {
          settlement = run_script_in_turn(run.ops[at++]);
          continue;
        }
        const auto end = std::find_if(run.ops.begin() + static_cast<ptrdiff_t>(at), run.ops.end(), suits_turn);
        const auto count = static_cast<size_t>(end - run.ops.begin()) - at;
        units_.clear();
        add_units_within(run.units, at, count, units_);
        tables_.begin_batch();
        settlement = still_open(run_statement({.ops = run.ops.subspan(at, count), .units = units_, .lane = lane_}));
        at += count;
      }
    } catch (const std::bad_alloc &) {
      settlement = {.failure = Failure::out_of_memory};
    }
    write_tables_.end_script(thd(), certification_, settlement, false);
    if (!settlement.lasted()) counters_->add(Counter::transactions_lost);
    end();
    return settlement;
  }

  /// A step that fails, or is left, is undone by itself. What cannot be undone so takes the whole run along.
  Settlement run_script_in_turn(Op &op) {
    if (held_up_ == op.connection) {
      op.progress = Progress::waiting;
      return {};
    }
    op.progress = Progress::done;
    if (const Failure why = refusal_of_script(op); why != Failure::none) {
      refuse(op, why, not_ready_ ? node_not_ready : nothing_said);
      return {};
    }
    write_tables_.take_changed();
    bool undo = false;
    writer_.set_step(true);
    const Settlement settlement = run_steps(op, undo);
    writer_.set_step(false);
    const bool left = op.progress != Progress::done;
    if (left) held_up_ = op.connection;
    if (settlement.lasted() && (left || undo) && write_tables_.take_changed()) return {.failure = Failure::row_locked};
    return settlement;
  }

  Failure refusal_of_script(const Op &op) const {
    if (not_ready_) return Failure::cluster_not_ready;
    if (op.identity != nullptr && op.identity->account == nullptr) return Failure::unauthorized;
    return access_ == Access::read ? Failure::read_only_door : Failure::none;
  }

  /// `undo`: it is over, and nothing of it shall stay.
  Settlement run_steps(Op &op, bool &undo) {
    Script &script = *script_of(op);
    Settlement settlement;
    try {
      Script::Step step = script.begin();
      while (settlement.lasted() && op.progress == Progress::done && !ends_script(step)) {
        settlement = run_step(op, step);
        if (settlement.lasted() && op.progress == Progress::done) step = script.next();
      }
      undo = step.what == Script::Step::What::undo;
      if (settlement.lasted() && op.progress == Progress::done) finish(op, Failure::none);
    } catch (const std::bad_alloc &) {
      settlement = {.failure = Failure::out_of_memory, .repeatable = !cannot_be_undone(thd())};
    }
    return settlement;
  }

  static bool ends_script(const Script::Step &step) {
    return step.what == Script::Step::What::commit || step.what == Script::Step::What::undo;
  }

  Settlement run_step(Op &op, const Script::Step &step) {
    if (stop_.load(std::memory_order_relaxed)) return {.failure = Failure::stopping};
    // KILL QUERY ends the request; KILL takes the thread's identity, and the request is run again under another.
    if (thd()->killed && !certification_.interrupted())
      return {.failure = Failure::interrupted, .repeatable = thread_->killed()};
    bool failed = false;
    if (step.what == Script::Step::What::mark) failed = !write_tables_.set_mark(thd());
    if (step.what == Script::Step::What::back) failed = !write_tables_.go_back_to_mark(thd());
    if (failed) return {.failure = Failure::commit_failed, .repeatable = !cannot_be_undone(thd())};
    if (step.what != Script::Step::What::run || step.ops.empty()) return {};
    for (Op &one : step.ops) {
      one.identity = op.identity;
      one.connection = op.connection;
    }
    tables_.begin_batch();
    finder_.begin_batch(thd(), lane_);
    const Unit all{0, static_cast<uint32_t>(step.ops.size()), true};
    UnitReplies replies(step.ops);
    unit_ = &replies;
    unit_ends_ = UnitEnds::commit;
    const Settlement settlement = still_open(run_statement({.ops = step.ops, .units = {&all, 1}, .lane = lane_}));
    unit_ = nullptr;
    op.progress = step.ops[0].progress;
    return settlement;
  }

  /// Of a statement among others. The server may have ended their transaction with it, and would begin another.
  Settlement still_open(Settlement settlement) const {
    if (settlement.lasted() && !thd()->in_multi_stmt_transaction_mode()) settlement.failure = Failure::commit_failed;
    return settlement;
  }

  void begin_row_waits() {
    const bool alone = lane_ == Lane::alone;
    writer_.begin_batch(thd(), alone, alone ? row_wait_ms() : 0, alone_row_wait_ms_);
  }

  /// Tables are opened and closed with it, those for reading too.
  Settlement run_statement(const Run &run) {
    const bool alone = lane_ == Lane::alone;
    thread_->begin_writing((alone || unit_ != nullptr) && std::any_of(run.ops.begin(), run.ops.end(), [](const Op &op) {
                             return op.verb == Verb::lock;
                           }));
    certification_.begin_statement();
    Settlement settlement;
    try {
      for (int attempt = 0; attempt < prepare_attempts_max; ++attempt) {
        write_tables_.begin(thd(), alone);
        if (prepare(run.ops)) break;
      }
      write_tables_.lock_all();
      // Consistent reads, although the statement is one that writes.
      thd()->lex->sql_command = SQLCOM_SELECT;
      tables_.lock_all(lookups_);
      execute_all(run, nullptr);
      settlement = writer_.take_lost();
      const bool undo = unit_ != nullptr ? unit_ends_ != UnitEnds::commit : writer_.undo();
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

  void execute_all(const Run &run, Watcher *watcher) {
    opens_ = 0;
    const Unit *unit = run.units.data();
    const Unit *const units_end = unit + run.units.size();
    for (size_t at = 0; at != run.ops.size();) {
      const bool is_unit = unit != units_end && unit->first == at;
      const std::span<Op> ops = run.ops.subspan(at, is_unit ? unit->count : 1);
      at += ops.size();
      if (held_up_ == ops[0].connection) {
        leave(ops, Progress::waiting);
      } else if (is_unit) {
        execute_unit(ops, unit->atomic);
      } else {
        execute_next(ops[0]);
      }
      if (is_unit) ++unit;
      if (ops[0].progress != Progress::done) {
        held_up_ = ops[0].connection;
      } else if (watcher != nullptr) {
        for (const Op &op : ops) watcher->op_done(op);
      }
      if (!writer_.lost().lasted()) return;
    }
  }

  /// Ops are executed, or passed by, in their order: so each open op finds what it opens.
  void execute_next(Op &op) {
    if (op.verb != Verb::open || opens_ == opening_.size()) return execute(op, nullptr);
    const Spec *const opening = opening_[opens_++].get();
    if (opening != nullptr) return execute(op, opening);
    op.progress = Progress::done;
    op.slot->clear();
    refuse(op, Failure::out_of_memory);
  }
  void pass_by(std::span<const Op> ops) {
    const auto is_open = [](const Op &op) { return op.verb == Verb::open; };
    opens_ = std::min(opens_ + static_cast<size_t>(std::count_if(ops.begin(), ops.end(), is_open)), opening_.size());
  }
  /// For later, none of them having been executed.
  void leave(std::span<Op> ops, Progress progress) {
    pass_by(ops);
    wait_behind(ops, progress);
  }
  static void wait_behind(std::span<Op> ops, Progress progress) {
    for (Op &op : ops) op.progress = Progress::waiting;
    ops[0].progress = progress;
  }

  void execute_unit(std::span<Op> ops, bool atomic) {
    if (unit_ != nullptr) return execute_unit(ops, atomic, *unit_);
    if (write_any(ops)) return leave(ops, Progress::needs_own_run);
    UnitReplies replies(ops);
    execute_unit(ops, atomic, replies);
  }

  void execute_unit(std::span<Op> ops, bool atomic, UnitReplies &replies) {
    for (size_t i = 0; i < ops.size(); ++i) {
      Op &op = ops[i];
      if (replies.failure_kept(i)) {
        pass_by({&op, 1});
        replies.tell_kept(i);
        continue;
      }
      execute_next(op);
      if (!writer_.lost().lasted()) return;
      if (op.progress == Progress::done && !replies.failed(i)) continue;
      const std::span<Op> rest = ops.subspan(i + 1);
      if (op.progress != Progress::done) {
        const Progress left = op.progress;
        pass_by(rest);
        replies.restart();
        unit_ends_ = UnitEnds::roll_back;
        return wait_behind(ops, left == Progress::busy || left == Progress::locked ? left : Progress::needs_own_run);
      }
      if (atomic) {
        pass_by(rest);
        unit_ends_ = UnitEnds::roll_back;
        return replies.fail_all(i, counters_);
      }
      if (writes(op.verb) && !cannot_be_undone(thd())) {
        replies.keep_failure(i);
        replies.restart();
        unit_ends_ = UnitEnds::run_again;
        return;
      }
    }
  }

  void begin() {
    THD *const thd = this->thd();
    counters_->add(Counter::batches);
    held_up_.reset();
    thd->set_command(COM_QUERY);
    thd->set_query_id(next_query_id());
    thd->set_time();
    thd->userstat_running = opt_userstat_running;
    if (thread_->globals().changed(thd)) {
      tables_.release_all();
      thread_->globals().follow(thd);
    }
    if (thd->killed && !thread_->killed()) thd->reset_killed();  // KILL QUERY came when there was none
    not_ready_ = cluster_refuses_reads(thd);
    tables_.begin_batch();
    privileges_.begin_batch(thd);
    finder_.begin_batch(thd, lane_);
  }

  void end_statement() {
    THD *const thd = this->thd();
    if (thd->is_error()) thd->clear_error(true);
    opening_.clear();
    thd->get_stmt_da()->opt_clear_warning_info(thd->query_id);
    free_root(thd->mem_root, MYF(MY_KEEP_PREALLOC));
  }

  void end() {
    THD *const thd = this->thd();
    end_statement();
    thd->set_command(COM_SLEEP);
    if (thd->killed && !thread_->killed()) thd->reset_killed();
  }

  /// Opens every table the ops need. False if all were given up on the way and must be opened again.
  bool prepare(std::span<Op> ops) {
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
        state = tables_.prepare(spec, false).state;
        // Now, not when the op's turn comes: finds behind it in the batch need to know what they are about.
        if (state == TableState::ready && !op.slot->filled()) op.slot->fill(specs_.use(*op.spec));
      } else if (op.verb == Verb::find) {
        lookups_ += std::max<size_t>(op.find->in_list.size(), 1);
        if (Binding *const binding = op.slot->binding())
          state = tables_.prepare(static_cast<Spec *>(binding), lane_ == Lane::alone || Bounds::needed(*op.find)).state;
      } else if (access_ == Access::write && writes(op.verb) && op.verb != Verb::script && lane_ == Lane::turn) {
        if (Binding *const binding = op.slot->binding())
          state = write_tables_.prepare(static_cast<Spec *>(binding), op.verb, [this] { give_up_all(); }).state;
      }
      if (state == TableState::again) return false;
    }
    return true;
  }

  /// Opens the tables that the ops write to, before any other: where one cannot be had all are closed again.
  void prepare_writes_alone(std::span<Op> ops) {
    for (Op &op : ops) {
      if (!writes(op.verb) || (op.identity != nullptr && !may_prepare(op))) continue;
      if (Binding *const binding = op.slot->binding())
        write_tables_.prepare(static_cast<Spec *>(binding), op.verb, [this] { give_up_all(); });
    }
    write_tables_.open_listed();
  }

  /// Whether the op's account may know of its table.
  bool may_prepare(const Op &op) {
    if (op.identity->account == nullptr) return false;
    const Spec *const spec = spec_of(op, opening_.empty() ? nullptr : opening_.back().get());
    return spec == nullptr || privileges_.allow(op, *spec, access_);
  }

  /// What the op acts on; nullptr for nothing. `opening`: what an open op opens.
  static const Spec *spec_of(const Op &op, const Spec *opening) {
    if (op.verb == Verb::open) return opening;
    if (op.verb == Verb::answer || op.verb == Verb::login || op.verb == Verb::script || op.verb == Verb::statement)
      return nullptr;
    return static_cast<const Spec *>(op.slot->binding());
  }

  /// False if the op has failed because of who asks. `table`: what is open for it, or nullptr.
  bool allowed(Op &op, const Spec *spec, const OpenTable *table) {
    if (op.identity->account == nullptr) {
      refuse(op, Failure::unauthorized);
      return false;
    }
    if (spec == nullptr) return true;
    const bool known = table != nullptr && table->state == TableState::ready;
    if (privileges_.allow(op, *spec, access_) && (!known || privileges_.allow_key(op, *spec, *table, access_)))
      return true;
    refuse(op, Failure::privilege_denied, privileges_.why(op, *spec, access_, known ? table : nullptr));
    return false;
  }

  void execute_login(Op &op) {
    if (op.failure == Failure::none && lane_ == Lane::turn) {
      op.progress = Progress::needs_own_run;
      return;
    }
    op.identity->account.reset();
    if (op.failure != Failure::none) return refuse(op, op.failure);
    LoginOutcome outcome = log_in(thd(), *op.login, op.identity->peer, names_);
    op.identity->account = std::move(outcome.account);
    if (op.identity->account == nullptr) return refuse(op, Failure::unauthorized, outcome.error);
    op.identity->peer.note_account(std::move(outcome.name));
    counters_->add(Counter::logins);
    finish(op, Failure::none);
  }

  /// `opening`: what an open op opens.
  void execute(Op &op, const Spec *opening) {
    op.progress = Progress::done;
    if (op.verb == Verb::login) return execute_login(op);
    if (op.verb == Verb::statement) return execute_statement(op);
    if (not_ready_ && op.verb != Verb::answer) {
      if (op.verb == Verb::open) op.slot->clear();
      return refuse(op, Failure::cluster_not_ready, node_not_ready);
    }
    Binding *const binding = op.slot != nullptr ? op.slot->binding() : nullptr;
    if (op.identity != nullptr) {
      const Spec *const spec = spec_of(op, opening);
      if (!allowed(op, spec, spec != nullptr ? open_table(op, *spec) : nullptr)) {
        if (op.verb == Verb::open) op.slot->clear();
        return;
      }
    }
    switch (op.verb) {
      case Verb::answer:
        counters_->add(Counter::requests_other);
        return finish(op, op.slot != nullptr && binding == nullptr ? Failure::not_open : op.failure);
      case Verb::open: return execute_open(op, opening);
      case Verb::find: {
        if (binding == nullptr) return refuse(op, Failure::not_open);
        OpenTable *const table = tables_.prepared(static_cast<Spec *>(binding));
        if (!usable(op, table)) return;
        finder_.run(op, *table);
        if (op.progress == Progress::done) counters_->add(Counter::requests_find);
        return;
      }
      case Verb::script: op.progress = Progress::needs_own_run; return;
      case Verb::lock:
      case Verb::insert:
      case Verb::edit: {
        if (access_ == Access::read) return refuse(op, Failure::read_only_door);
        if (binding == nullptr) return refuse(op, Failure::not_open);
        OpenTable *const table = write_tables_.prepared(static_cast<Spec *>(binding));
        if (usable(op, table)) writer_.run(op, *table);
        if (op.progress == Progress::done) static_cast<Spec *>(binding)->count(0, 0, 1);
        return;
      }
      case Verb::login:
      case Verb::statement: return;
    }
  }

  /// The session's own THD takes the thread for as long as that takes. Sessions are made by this engine alone.
  void execute_statement(Op &op) {
    const Statement &statement = *op.statement;
    auto *const session = static_cast<HostedSession *>(statement.session);
    if (lane_ != Lane::turn || session == nullptr || !session->run_in_turn(statement, *counters_)) {
      op.progress = Progress::needs_own_run;
      return;
    }
    counters_->add(Counter::statements_fast);
    finish(op, Failure::none);
  }

  const OpenTable *open_table(const Op &op, const Spec &spec) {
    return access_ == Access::write && writes(op.verb) ? write_tables_.prepared(&spec) : tables_.prepared(&spec);
  }

  static Counter request_counter(Verb verb) {
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

  void refuse(Op &op, Failure failure, const ServerError &error = nothing_said) {
    counters_->add(request_counter(op.verb));
    finish(op, failure, error);
  }

  /// The server wants every table closed before it opens one.
  void give_up_all() {
    tables_.close_all();
    write_tables_.close();
    release_locks(thd());
  }

  void execute_open(Op &op, const Spec *opening) {
    const OpenTable *const table = opening != nullptr ? tables_.prepared(opening) : nullptr;
    if (!usable(op, table)) {
      // Filled when an earlier run opened it; a slow lane later the table is gone.
      if (op.progress == Progress::done) op.slot->clear();
      return;
    }
    counters_->add(Counter::requests_open);
    finish(op, Failure::none);
  }

  /// False if the op cannot run on this table: it has failed, or is left for later.
  bool usable(Op &op, const OpenTable *table) {
    if (table == nullptr) {
      op.progress = Progress::busy;  // DDL took tables from under us again and again
      return false;
    }
    switch (table->state) {
      case TableState::ready: return true;
      case TableState::busy:
      case TableState::again: op.progress = Progress::busy; return false;
      case TableState::failed:
        if (table->failure == Failure::interrupted && thread_->killed()) {
          op.progress = Progress::busy;  // meant for this thread's identity, not for the request
          return false;
        }
        refuse(op, table->failure, table->error);
        return false;
    }
    return false;
  }

  void finish(Op &op, Failure failure, const ServerError &error = nothing_said) {
    if (failure != Failure::none) count_failure(*counters_, op, failure);
    Outcome outcome;
    outcome.failure = failure;
    outcome.message = error.message;
    outcome.server_error = error.number;
    op.reply->done(outcome);
  }

  /// KILL took the thread's identity, not the thread: its clients go on under a new one.
  void renew() {
    tables_.release_all();
    if (!thread_->has_room_to_renew()) return;  // it stays killed, and is asked again
    stopping_ = !thread_->renew();
    if (stopping_) return;
    tables_.set_thd(thd());
    counters_->add(Counter::workers_restarted);
  }

  // Declared first, so that it is destroyed last: tables_ closes through its THD.
  std::unique_ptr<ServerThread> thread_;
  const engine::LoginNames names_;
  Specs &specs_;
  Counters *const counters_;
  const Access access_;
  Tables tables_;
  const std::atomic<bool> &stop_;
  Finder finder_;
  Privileges privileges_;
  WriteTables write_tables_;
  Writer writer_;
  Certification certification_;
  std::vector<sql::SpecUse> opening_;                 // of the running batch's open ops, in order
  size_t lookups_ = 0;                                // of the running batch's finds
  size_t opens_ = 0;                                  // how many of those were executed or passed by
  UnitReplies *unit_ = nullptr;                       // of the unit that has the running batch to itself
  std::optional<uint32_t> held_up_;                   // the connection whose next op of the batch cannot run now
  std::vector<Unit> units_;                           // of a statement among scripts
  UnitEnds unit_ends_ = UnitEnds::commit;             // how that batch shall end
  Lane lane_ = Lane::turn;                            // of the running batch
  int alone_row_wait_ms_ = limits::row_wait_slow_ms;  // as allow_row_wait() said
  bool not_ready_ = false;                            // the running batch is refused
  bool stopping_ = false;
};

}  // namespace

std::unique_ptr<Executor> make_executor(std::unique_ptr<ServerThread> thread, Specs &specs, engine::LoginNames names,
                                        const ThreadIdentity &who, const std::atomic<bool> &stop) {
  return std::make_unique<MariaExecutor>(std::move(thread), specs, names, who, stop);
}

}  // namespace postern::mariadb
