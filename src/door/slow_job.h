// slow_job.h: SlowJob, a connection away from its worker, with what is to be done.
//
// Owned by the slow lane; while it runs, by the thread that runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "contract/op.h"
#include "door/connection.h"

namespace postern::door {

class Worker;

struct SlowJob {
  std::unique_ptr<Connection> connection;
  Worker *home = nullptr;
  std::unique_ptr<PutOff> work;        ///< the ops; what is left of them goes home in it
  size_t next = 0;                     ///< of these
  std::unique_ptr<Position> position;  ///< of the next one, if it was paused
  int64_t due_ms = 0;                  ///< not to be run before
  int busy_retry_ms = 0;
  int lost_runs = 0;          ///< how often the transaction of the next one was lost
  bool admitted = false;      ///< the next one is a login that may be tried once the job is due
  bool long_running = false;  ///< has used up its time once, or has worked as long until it was held up
  bool stays = false;         ///< its thread may wait long for a row
  int row_wait_ms = 0;        ///< how long

  // Neighbours in a JobQueue.
  SlowJob *before = nullptr;
  SlowJob *behind = nullptr;

  bool all_done() const { return next == work->ops.size(); }
  Op &op() { return work->ops[next]; }
  const Op &op() const { return work->ops[next]; }
  /// Its next op was held up when it was last tried.
  bool is_held_up() const {
    return !all_done() && (op().progress == Progress::busy || op().progress == Progress::locked);
  }
  bool writes_next() const { return !all_done() && writes(op().verb); }
};

}  // namespace postern::door
