// op_runner.h: OpRunner, which opens the tables that the ops of a statement need, and executes the ops one by one: with
// their accounts' rights, over tables that are open and locked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "contract/executor.h"
#include "engine/engine.h"
#include "engine/rows/find.h"
#include "engine/rows/write_tables.h"
#include "engine/rows/writer.h"
#include "engine/runs/privileges.h"
#include "engine/server/table.h"
#include "engine/server/thread.h"
#include "engine/sql/specs.h"

namespace postern::rows {

/// Belongs to an executor, which begins and ends statements and transactions, and is used on its thread.
class OpRunner {
 public:
  /// The executor's, which outlive this.
  struct Tools {
    Tables &tables;
    Finder &finder;
    WriteTables &write_tables;
    Writer &writer;
  };
  OpRunner(ServerThread &thread, Specs &specs, engine::LoginNames names, const ThreadIdentity &who, const Tools &tools)
      : thread_(thread), specs_(specs), names_(names), counters_(*who.counters), access_(who.access), tools_(tools) {}
  OpRunner(const OpRunner &) = delete;
  OpRunner &operator=(const OpRunner &) = delete;

  /// The lane of the ops that follow.
  void set_lane(Lane lane) { lane_ = lane; }
  Lane lane() const { return lane_; }
  /// Begins a run. `not_ready`: the node of a cluster refuses statements, so it refuses ops.
  void begin_run(bool not_ready) {
    not_ready_ = not_ready;
    privileges_.begin_batch(thread_);
  }
  /// Ends a statement: what its ops opened is no longer held.
  void end_statement() { opening_.clear(); }

  /// Opens every table the ops need. False if all were given up on the way and must be opened again. Throws
  /// std::bad_alloc.
  bool prepare(std::span<Op> ops);
  /// The rows that the prepared ops look up.
  size_t lookups() const { return lookups_; }
  /// Begins to execute the prepared ops. They are executed, or passed by, in their order: so each open op finds the
  /// table that it opens.
  void begin_ops() { opens_ = 0; }
  /// The op is none of a session's statements. Afterwards its progress says whether it is done or left.
  void execute_next(Op &op) { op.verb == Verb::open ? execute_next_open(op) : execute(op, nullptr); }
  /// These ops are not run now.
  void pass_by(std::span<const Op> ops);

  /// Gives up all tables: the server wants every one closed before it opens one.
  void give_up_all();

  bool write_any(std::span<const Op> ops) const {
    return access_ == Access::write &&
           std::any_of(ops.begin(), ops.end(), [](const Op &op) { return writes(op.verb); });
  }
  /// Why a script may not begin, or none.
  Failure refusal_of_script(const Op &op) const;
  void refuse_script(Op &op, Failure why);
  /// Tells the op's reply, and counts a failure.
  void finish(Op &op, Failure failure, const ServerError &error = nothing_said);

 private:
  void prepare_writes_alone(std::span<Op> ops);
  bool may_prepare(const Op &op);
  static const Spec *spec_of(const Op &op, const Spec *opening);
  bool allowed(Op &op, const Spec *spec, const OpenTable *table);
  void execute_next_open(Op &op);
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

  ServerThread &thread_;
  Specs &specs_;
  const engine::LoginNames names_;
  Counters &counters_;
  const Access access_;
  const Tools tools_;
  Privileges privileges_;
  std::vector<sql::SpecUse> opening_;  // by the prepared ops, in order
  size_t lookups_ = 0;
  size_t opens_ = 0;  // how many of opening_ were executed or passed by
  Lane lane_ = Lane::turn;
  bool not_ready_ = false;
};

}  // namespace postern::rows
