#include "engine/mariadb/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <new>
#include <optional>

#include "base/limits.h"
#include "engine/mariadb/bounds.h"
#include "engine/mariadb/cluster.h"
#include "engine/engine.h"
#include "engine/mariadb/failures.h"
#include "engine/mariadb/find.h"
#include "engine/mariadb/login.h"
#include "engine/mariadb/privileges.h"
#include "engine/sql/specs.h"
#include "engine/mariadb/table.h"
#include "engine/mariadb/thread.h"
#include "engine/mariadb/write_tables.h"
#include "engine/mariadb/writer.h"

namespace postern::mariadb {
namespace {

/// What SQL says to statements on a Galera node that is not ready.
const ServerError not_ready{"WSREP has not yet prepared node for application use"};

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
        finder_(tables_, who.counters, stop),
        write_tables_(specs, who.counters),
        writer_(who.counters, thread_->row_wait(), stop) {}

  Settlement run(const Run &run) override {
    if (thread_->killed() && server_stopping()) return {.failure = Failure::stopping};
    lane_ = run.lane;
    const std::span<Op> ops = run.ops;
    const bool writing =
        access_ == Access::write && std::any_of(ops.begin(), ops.end(), [](const Op &op) { return writes(op.verb); });
    return writing ? run_writing(ops) : run_reading(ops, run.watcher);
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

  THD *thd() const { return thread_->thd(); }

  Settlement run_reading(std::span<Op> ops, Watcher *watcher) {
    Settlement settlement;
    begin();
    try {
      for (int attempt = 0; attempt < prepare_attempts_max && !prepare(ops); ++attempt) {
      }
      tables_.lock_all(lookups_);
      finder_.expect(lookups_);
      execute_all(ops, watcher);
    } catch (const std::bad_alloc &) {
      // A find in the slow lane may have sent a part of its reply, and its place with it.
      settlement = {.failure = Failure::out_of_memory, .repeatable = lane_ == Lane::turn};
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

  /// All writes are one statement and one transaction. Tables are opened and closed with it, those for reading too.
  Settlement run_writing(std::span<Op> ops) {
    const bool alone = lane_ == Lane::alone;
    tables_.release_all();
    begin();
    thread_->begin_writing();
    writer_.begin_batch(thd(), alone, alone ? row_wait_ms() : 0, alone_row_wait_ms_);
    Settlement settlement;
    try {
      for (int attempt = 0; attempt < prepare_attempts_max; ++attempt) {
        write_tables_.begin(thd(), alone);
        if (prepare(ops)) break;
      }
      write_tables_.lock_all();
      // Consistent reads, although the statement is one that writes.
      thd()->lex->sql_command = SQLCOM_SELECT;
      tables_.lock_all(lookups_);
      execute_all(ops, nullptr);
      settlement = writer_.take_lost();
      if (settlement.lasted() && !writer_.undo()) {
        settlement = write_tables_.commit();  // which throws only where it has failed
      } else {
        write_tables_.roll_back();
      }
    } catch (const std::bad_alloc &) {
      settlement = {.failure = Failure::out_of_memory, .repeatable = !cannot_be_undone(thd())};
      writer_.break_off();
      write_tables_.roll_back();
    }
    if (!settlement.lasted()) counters_->add(Counter::transactions_lost);
    tables_.unlock_all(Tables::Ending::ended);
    tables_.close_all();
    write_tables_.close();
    thread_->end_writing();
    end();
    return settlement;
  }

  void execute_all(std::span<Op> ops, Watcher *watcher) {
    std::optional<uint32_t> held_up;  // the connection whose next op cannot run now
    size_t opens = 0;
    for (Op &op : ops) {
      const Spec *opening = nullptr;
      bool too_much = false;  // for one more open index
      if (op.verb == Verb::open && opens < opening_.size()) {
        opening = opening_[opens++].get();
        too_much = opening == nullptr;
      }
      if (held_up == op.connection) {
        op.progress = Progress::waiting;
        continue;
      }
      if (too_much) {
        op.progress = Progress::done;
        op.slot->clear();
        refuse(op, Failure::out_of_memory);
      } else {
        execute(op, opening);
      }
      if (op.progress != Progress::done) {
        held_up = op.connection;
      } else if (watcher != nullptr) {
        watcher->op_done(op);
      }
      if (!writer_.lost().lasted()) return;
    }
  }

  void begin() {
    THD *const thd = this->thd();
    counters_->add(Counter::batches);
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

  void end() {
    THD *const thd = this->thd();
    if (thd->is_error()) thd->clear_error(true);
    opening_.clear();
    thd->get_stmt_da()->opt_clear_warning_info(thd->query_id);
    free_root(thd->mem_root, MYF(MY_KEEP_PREALLOC));
    thd->set_command(COM_SLEEP);
    if (thd->killed && !thread_->killed()) thd->reset_killed();
  }

  /// Opens every table the ops need. False if all were given up on the way and must be opened again.
  bool prepare(std::span<Op> ops) {
    opening_.clear();
    lookups_ = 0;
    if (not_ready_) return true;
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
      } else if (access_ == Access::write && writes(op.verb)) {
        if (Binding *const binding = op.slot->binding())
          state = write_tables_.prepare(static_cast<Spec *>(binding), op.verb, [this] { give_up_all(); }).state;
      }
      if (state == TableState::again) return false;
    }
    return true;
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
    if (op.verb == Verb::answer || op.verb == Verb::login) return nullptr;
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
    counters_->add(Counter::logins);
    finish(op, Failure::none);
  }

  /// `opening`: what an open op opens.
  void execute(Op &op, const Spec *opening) {
    op.progress = Progress::done;
    if (op.verb == Verb::login) return execute_login(op);
    if (not_ready_ && op.verb != Verb::answer) {
      if (op.verb == Verb::open) op.slot->clear();
      return refuse(op, Failure::cluster_not_ready, not_ready);
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
      case Verb::insert:
      case Verb::edit: {
        if (access_ == Access::read) return refuse(op, Failure::read_only_door);
        if (binding == nullptr) return refuse(op, Failure::not_open);
        OpenTable *const table = write_tables_.prepared(static_cast<Spec *>(binding));
        if (usable(op, table)) writer_.run(op, *table);
        return;
      }
      case Verb::login: return;
    }
  }

  const OpenTable *open_table(const Op &op, const Spec &spec) {
    return access_ == Access::write && writes(op.verb) ? write_tables_.prepared(&spec) : tables_.prepared(&spec);
  }

  static Counter request_counter(Verb verb) {
    switch (verb) {
      case Verb::answer: return Counter::requests_other;
      case Verb::open: return Counter::requests_open;
      case Verb::find: return Counter::requests_find;
      case Verb::insert: return Counter::requests_insert;
      case Verb::edit: return Counter::requests_edit;
      case Verb::login: return Counter::logins_failed;
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
    thd()->release_transactional_locks();
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
  Finder finder_;
  Privileges privileges_;
  WriteTables write_tables_;
  Writer writer_;
  std::vector<sql::SpecUse> opening_;                 // of the running batch's open ops, in order
  size_t lookups_ = 0;                                // of the running batch's finds
  Lane lane_ = Lane::turn;                            // of the running batch
  int alone_row_wait_ms_ = limits::row_wait_slow_ms;  // as allow_row_wait() said
  bool not_ready_ = false;                            // the running batch is refused
  bool stopping_ = false;
};

class MariaEngine final : public Engine {
 public:
  explicit MariaEngine(engine::LoginNames names) : names_(names) {}
  bool up() const override { return server_is_up(); }

  std::unique_ptr<Executor> attach(const ThreadIdentity &who, const std::atomic<bool> &stop) override {
    std::unique_ptr<ServerThread> thread = ServerThread::enter(who, stop);
    if (thread == nullptr) return nullptr;
    return std::make_unique<MariaExecutor>(std::move(thread), specs_, names_, who, stop);
  }

 private:
  const engine::LoginNames names_;
  Specs specs_;
};

}  // namespace
}  // namespace postern::mariadb

namespace postern::engine {

std::unique_ptr<Engine> make_engine(LoginNames names) {
  return std::make_unique<mariadb::MariaEngine>(names);
}

bool server_is_bootstrapping() {
  return opt_bootstrap;
}

Descriptors server_descriptors() {
  rlimit limit{};
  uint64_t all = open_files_limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) all = std::min<uint64_t>(all, limit.rlim_cur);
  all = std::min<uint64_t>(all, UINT32_MAX);
  // A table takes two where its rows and its indexes are files of their own. The rest: logs, temporary files, replicas.
  constexpr uint64_t others = 256;
  const uint64_t needed = uint64_t{max_connections} + extra_max_connections + 2 * uint64_t{tc_size} + others;
  return {.all = static_cast<uint32_t>(all), .for_server = static_cast<uint32_t>(std::min(needed, all))};
}

void write_error_log(log::Level level, const char *line) {
  switch (level) {
    case log::Level::note: sql_print_information("Postern: %s", line); break;
    case log::Level::warning: sql_print_warning("Postern: %s", line); break;
    case log::Level::error: sql_print_error("Postern: %s", line); break;
  }
}

}  // namespace postern::engine
