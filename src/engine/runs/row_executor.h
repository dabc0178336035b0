// row_executor.h: RowExecutor, one thread's executor; the part common to MariaDB and MySQL. Each server's engine
// derives from it.
//
// Its files: row_executor.cc has runs and their transactions (engine/sql/run_order has the order within them,
// op_runner.h single ops), run_script.cc scripts, run_statements.cc statements shared by several scripts.
#pragma once

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
#include "engine/runs/op_runner.h"
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
        counters_(who.counters),
        tables_(thread_->thd(), specs, who.counters, [this] { give_up_all(); }),
        stop_(stop),
        finder_(tables_, who.counters, stop),
        write_tables_(specs, who.counters),
        writer_(who.counters, thread_->row_wait(), stop),
        ops_(*thread_, specs, names, who, {tables_, finder_, write_tables_, writer_}) {}

  Settlement run(const Run &run) override;
  void run_command(Op &op, bool answer_may_wait) override;
  void idle() noexcept override;
  bool keeps_tables() const noexcept override {
    return tables_.any_open() || tables_.knows_much() || write_tables_.knows_much();
  }
  bool server_stopping() noexcept override;
  int64_t row_wait_ms() noexcept override { return thread_->row_wait_ms(); }
  void allow_row_wait(int ms) noexcept override { alone_row_wait_ms_ = ms; }
  void describe(Bytes text) noexcept override;

 protected:
  THD *thd() const { return thread_->thd(); }
  ServerThread &thread() { return *thread_; }
  Tables &tables() { return tables_; }
  WriteTables &write_tables() { return write_tables_; }
  Counters *counters() const { return counters_; }
  Lane lane() const { return ops_.lane(); }
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
  void give_up_all() { ops_.give_up_all(); }
  void finish(Op &op, Failure failure) { ops_.finish(op, failure); }

 private:
  /// Steps of at most so many scripts share a statement: more would save little, and lose much when one fails.
  static constexpr size_t scripts_together_max = 64;

  using Order = sql::RunOrder<RowExecutor>;
  friend Order;

  // RunOrder's hands, beside those of row_executor.cc.
  bool write_any(std::span<const Op> ops) const { return ops_.write_any(ops); }
  void pass_by(std::span<const Op> ops) { ops_.pass_by(ops); }
  bool lost() const { return !writer_.lost().lasted(); }

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
  Settlement run_steps(Op &op, const Script::Step *first, bool &undo);
  static bool ends_script(const Script::Step &step);
  bool is_interrupted() const { return thd()->killed && !certification_.interrupted(); }
  Settlement interrupted() const;
  Settlement run_step(Op &op, const Script::Step &step);
  Settlement run_ops_of_step(std::span<Op> ops);
  Settlement still_open(Settlement settlement) const;

  // Declared first, so that it is destroyed last: tables_ closes through its THD.
  std::unique_ptr<ServerThread> thread_;
  Counters *const counters_;
  Tables tables_;
  const std::atomic<bool> &stop_;
  Finder finder_;
  WriteTables write_tables_;
  Writer writer_;
  OpRunner ops_;
  Certification certification_;
  Order order_{*this};
  std::vector<Unit> units_;                           // for a statement among scripts
  std::vector<Op> together_;                          // the last steps of several scripts
  size_t together_max_ = scripts_together_max;        // how many scripts
  bool tentative_ = false;                            // whether the running statement is such a step
  bool one_view_ = false;                             // for all statements of the running script
  bool just_described_ = false;                       // nothing was run since
  bool keeps_kill_ = false;                           // a KILL before the batch's begin is for it
  int alone_row_wait_ms_ = limits::row_wait_slow_ms;  // as allow_row_wait() said
  bool answers_may_wait_ = false;                     // as Run's
  time_t shown_time_ = 0;                             // in the process list
  bool stopping_ = false;
};

}  // namespace postern::rows
