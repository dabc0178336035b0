// row_executor.h: RowExecutor, one thread's executor; the part common to MariaDB and MySQL. Each server's engine
// derives from it.
//
// Its files: row_executor.cc has runs and their transactions (engine/sql/run_order has the order within them),
// run_script.cc scripts, run_statements.cc statements shared by several scripts, execute_op.cc single ops.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/limits.h"
#include "contract/executor.h"
#include "contract/script.h"
#include "engine/engine.h"
#include "engine/rows/find.h"
#include "engine/runs/privileges.h"
#include "engine/rows/write_tables.h"
#include "engine/rows/writer.h"
#include "engine/server/cluster.h"
#include "engine/server/table.h"
#include "engine/server/thread.h"
#include "engine/sql/run_order.h"
#include "engine/sql/specs.h"

namespace postern::rows {

class RowExecutor : public Executor {
 public:
  RowExecutor(std::unique_ptr<ServerThread> thread, Specs &specs, engine::LoginNames names, const ThreadIdentity &who,
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

  Settlement run(const Run &run) override;
  void run_command(Op &op, bool answer_may_wait) override;
  void idle() noexcept override;
  bool keeps_tables() const noexcept override {
    return tables_.any_open() || tables_.knows_much() || write_tables_.knows_much();
  }
  bool server_stopping() noexcept override;
  int64_t row_wait_ms() noexcept override { return thread_->row_wait_ms(); }
  void allow_row_wait(int ms) noexcept override { alone_row_wait_ms_ = ms; }
  void describe(Bytes text) noexcept override { thread_->describe(text); }

 protected:
  THD *thd() const { return thread_->thd(); }
  ServerThread &thread() { return *thread_; }
  Tables &tables() { return tables_; }
  WriteTables &write_tables() { return write_tables_; }
  Counters *counters() const { return counters_; }
  Lane lane() const { return lane_; }
  bool answers_may_wait() const { return answers_may_wait_; }

  /// Prepares the thread's session for a run that has begun.
  virtual void prepare_thread() {}
  /// Answers a session's statement, if this server supports that.
  virtual void execute_statement(Op &op);
  /// Called at the end of a run without writes, before it gives up its tables.
  virtual void end_reading(const Settlement &settlement) { (void)settlement; }
  /// Whether statements of the run's sessions are left for end_reading().
  virtual bool has_statements_left() const { return false; }

  /// False if the server goes down, or has no memory for another THD yet.
  bool renew();
  void end_statement();
  void give_up_all();
  void finish(Op &op, Failure failure, const ServerError &error = nothing_said);

 private:
  /// Steps of at most so many scripts share a statement: more would save little, and lose much when one fails.
  static constexpr size_t scripts_together_max = 64;

  using Order = sql::RunOrder<RowExecutor>;
  friend Order;

  bool write_any(std::span<const Op> ops) const {
    return access_ == Access::write &&
           std::any_of(ops.begin(), ops.end(), [](const Op &op) { return writes(op.verb); });
  }

  // row_executor.cc: runs, and RunOrder's hands.
  Settlement run_unit(const Run &run);
  Settlement run_reading(const Run &run);
  Settlement run_sessions(const Run &run);
  void begin_sessions();
  Settlement run_writing(const Run &run);
  void begin_row_waits();
  Settlement run_statement(const Run &run);
  void execute_all(const Run &run, Watcher *watcher);
  void execute_next(Op &op);
  void pass_by(std::span<const Op> ops);
  bool lost() const { return !writer_.lost().lasted(); }
  bool can_undo() const;
  void begin(std::span<const Op> ops);
  void begin_statement();
  void rest_after_statement();
  void end();

  // run_statements.cc: runs with scripts in them.
  Settlement run_statements(const Run &run);
  Settlement run_scripts(std::span<Op> ops, size_t &count);
  bool may_join(const Op &op, const Op *before) const;
  void add_together(const Op &op, std::span<const Op> step);
  Settlement run_together(std::span<Op> scripts, bool &done);
  Settlement run_script_in_turn(Op &op, const Script::Step *first = nullptr);

  // run_script.cc: scripts; their steps are statements of one transaction.
  Settlement run_script(Op &op);
  static bool suits_turn(const Op &op) { return op.verb == Verb::script && op.script->suits_turn(); }
  Failure refusal_of_script(const Op &op) const;
  Settlement run_steps(Op &op, const Script::Step *first, bool &undo);
  static bool ends_script(const Script::Step &step);
  Settlement run_step(Op &op, const Script::Step &step);
  Settlement run_ops_of_step(std::span<Op> ops);
  Settlement still_open(Settlement settlement) const;

  // execute_op.cc: one op.
  bool prepare(std::span<Op> ops);
  void prepare_writes_alone(std::span<Op> ops);
  bool may_prepare(const Op &op);
  static const Spec *spec_of(const Op &op, const Spec *opening);
  bool allowed(Op &op, const Spec *spec, const OpenTable *table);
  void execute_login(Op &op);
  void execute(Op &op, const Spec *opening);
  const OpenTable *open_table(const Op &op, const Spec &spec);
  static Counter request_counter(Verb verb);
  void refuse(Op &op, Failure failure, const ServerError &error = nothing_said);
  void execute_open(Op &op, const Spec *opening);
  /// False if the op cannot run on this table: it has failed, or was left for later.
  bool usable(Op &op, const OpenTable *table) {
    if (table != nullptr && table->state == TableState::ready) return true;
    give_up(op, table);
    return false;
  }
  void give_up(Op &op, const OpenTable *table);

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
  std::vector<sql::SpecUse> opening_;  // in the running batch, in order
  size_t lookups_ = 0;                 // in the running batch
  size_t opens_ = 0;                   // how many of them were executed or skipped
  Order order_{*this};
  std::vector<Unit> units_;                           // for a statement among scripts
  std::vector<Op> together_;                          // the last steps of several scripts
  size_t together_max_ = scripts_together_max;        // how many scripts
  bool tentative_ = false;                            // whether the running statement is such a step
  bool one_view_ = false;                             // for all statements of the running script
  Lane lane_ = Lane::turn;                            // the running batch's
  int alone_row_wait_ms_ = limits::row_wait_slow_ms;  // as allow_row_wait() said
  bool answers_may_wait_ = false;                     // as Run's
  time_t shown_time_ = 0;                             // in the process list
  bool not_ready_ = false;                            // whether the running batch is refused
  bool stopping_ = false;
};

}  // namespace postern::rows
