// turn_runs.h: TurnRuns, which runs the requests of a worker's turns and settles them: first the readers', then the
// writers', here or in the write lane. Replies of clients that have committed except for the flush are sent after a
// flush that the write lane makes for all of them.
//
// Replies are sent as early as possible: those of readers before the writers run, and within a run that only reads each
// connection's after its last op, and long ones. A worker has one. Used by the thread that has the worker's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/counters.h"
#include "contract/executor.h"
#include "door/worker_connections.h"
#include "door/connections/options.h"
#include "door/connections/slow_log.h"
#include "door/connections/turn.h"
#include "door/connections/turn_times.h"
#include "door/lanes/home.h"
#include "door/lanes/write_job.h"
#include "door/lanes/write_lane.h"
#include "door/memory_guard.h"
#include "door/turns_away.h"
#include "door/write_runs.h"

namespace postern::door {

/// Takes connections with requests that a turn cannot do.
class WayOut {
 public:
  /// The requests are in the connection's `put_off`. Throws std::bad_alloc; then the connection stays.
  virtual void leave_turn(Connection &connection) = 0;

 protected:
  ~WayOut() = default;
};

class TurnRuns final : private Watcher {
 public:
  /// Everything outlives it.
  struct Context {
    const Options &options;
    const Engine &engine;
    WriteLane *write_lane;  ///< nullptr: there is none
    bool writes;            ///< whether clients may write
    WorkerConnections &connections;
    Home &home;  ///< where the write lane returns turns to
    WayOut &way_out;
    Counters &counters;
    MemoryGuard &guard;
  };
  explicit TurnRuns(const Context &context);
  TurnRuns(const TurnRuns &) = delete;
  TurnRuns &operator=(const TurnRuns &) = delete;

  /// The turn being collected or run.
  Turn &turn() { return *turn_; }
  int64_t began_us() const { return turn_->began_us; }
  void begin(int64_t began_us) {
    turn_->clear();
    turn_->began_us = began_us;
  }
  /// Runs, settles and sends. Throws std::bad_alloc: the turn's progress is unknown then.
  void run(Executor &executor, int64_t now_ms);
  /// The write lane's results are settled like those of a turn; its clients may send further requests.
  void take_home(std::unique_ptr<WriteJob> job);

  /// Takes the memory of requests that left a turn and are answered, for the next ones. Much is not kept.
  void put_by(std::unique_ptr<PutOff> answered) {
    constexpr size_t ops_max = 16;
    if (answered == nullptr || answered->ops.capacity() > ops_max || answered->units.capacity() > ops_max) return;
    answered->clear();
    spare_put_off_ = std::move(answered);
  }

  WriteRuns &write_runs() { return write_runs_; }
  /// The times of statements by form.
  TurnTimes &times() { return times_; }

 private:
  void run_command();
  /// Whether answers may wait for a flush: only those of a worker with several clients, as a lone client's commit is
  /// made by a thread without other work.
  bool answers_may_wait() const { return context_.write_lane != nullptr && context_.connections.count() > 1; }
  void run_timed(std::span<Turn::Slice> slices, bool answers_may_wait = false);
  size_t run_readers(std::span<Turn::Slice> readers);
  bool give_away(size_t readers, size_t unflushed);
  void keep_writers(std::span<Turn::Slice> writers);
  void run_writers(std::span<Turn::Slice> writers);
  void op_done(const Op &op) override;
  void send_ahead(Turn::Slice &slice, const Op &op);
  void settle(std::span<const Turn::Slice> slices);
  void settle_at_home(const Turn::Slice &slice);
  void leave_unanswered(const Turn::Slice &slice, std::span<Op> left);
  void refuse_rest(Connection &connection, std::span<Op> left);

  const Context context_;
  std::unique_ptr<WriteJob> turn_ = std::make_unique<WriteJob>();
  TurnsAway turns_away_;
  std::unique_ptr<PutOff> spare_put_off_;
  WriteRuns write_runs_;
  TurnTimes times_;
  SlowLog slow_log_;
  Executor *executor_ = nullptr;  // of run()
  int64_t now_ms_ = 0;
};

}  // namespace postern::door
