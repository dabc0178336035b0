// slow_job.h: SlowJob, a connection away from its worker, with its ops to run.
//
// Owned by the slow lane; while it runs, by the thread that runs it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "contract/op.h"
#include "contract/script.h"
#include "contract/server_session.h"
#include "door/connections/connection.h"
#include "door/lanes/home.h"
#include "door/lanes/thread_use.h"

namespace postern::door {

struct SlowJob {
  std::unique_ptr<Connection> connection;
  Home *home = nullptr;
  std::unique_ptr<PutOff> work;        ///< the ops; those not done go home in it
  size_t next = 0;                     ///< position among these
  std::unique_ptr<Position> position;  ///< the next op's, if it was paused
  int64_t due_ms = 0;                  ///< not to be run before
  int64_t began_us = 0;                ///< when the next op came, or the one before it was done
  int busy_retry_ms = 0;
  int lost_runs = 0;          ///< how often the next op's transaction was lost
  bool admitted = false;      ///< the next op is a login that may be tried once the job is due
  bool long_running = false;  ///< has used up its time once, or worked as long before it was held up
  bool stays = false;         ///< its thread may wait long for a row
  bool wrote = false;         ///< its thread has counted it as one that writes
  int row_wait_ms = 0;        ///< how long it may wait for a row
  Prospect prospect{};        ///< of a statement that the server serves; logins have none
  ThreadUse use{};            ///< of a statement on a worker's thread, if its kind is suspected to last
  Traffic by_server{};        ///< the client's bytes that the server sent and received for its last statement

  // Neighbours in a JobQueue.
  SlowJob *before = nullptr;
  SlowJob *behind = nullptr;

  bool all_done() const { return next == work->ops.size(); }
  Op &op() { return work->ops[next]; }
  const Op &op() const { return work->ops[next]; }
  /// The unit that begins with the next op, or nullptr.
  const Unit *unit() const {
    for (const Unit &unit : work->units)
      if (unit.first == next) return &unit;
    return nullptr;
  }
  /// The next op, or those of its unit, which are run together.
  std::span<Op> ops_to_run() const {
    const Unit *const its_unit = unit();
    return std::span(work->ops).subspan(next, its_unit != nullptr ? its_unit->count : 1);
  }
  /// Its next op was held up when it was last tried.
  bool is_held_up() const {
    return !all_done() && (op().progress == Progress::busy || op().progress == Progress::locked);
  }
  /// Notes the connection's wait or work in its row of the roster.
  void note_doing() const {
    Doing doing = Doing::running;
    if (all_done()) doing = Doing::sending;
    else if (op().verb == Verb::login) doing = Doing::logging_in;
    else if (op().verb == Verb::statement) doing = Doing::in_server;
    else if (op().progress == Progress::busy) doing = Doing::waiting_for_table;
    else if (op().progress == Progress::locked) doing = Doing::waiting_for_row;
    connection->listed.note_doing(doing);
  }
  /// Gives ops that are not done back to the connection.
  void take_the_rest_along() {
    std::vector<Op> &ops = work->ops;
    ops.erase(ops.begin(), ops.begin() + static_cast<ptrdiff_t>(next));
    ops.front().position = nullptr;
    std::vector<Unit> &units = work->units;
    std::erase_if(units, [this](const Unit &one) { return one.first < next; });
    for (Unit &one : units) one.first -= static_cast<uint32_t>(next);
    connection->put_off(std::move(work));
  }
  /// Whether any op that is not done may end with a commit that stalls.
  bool writes() const {
    const auto left = std::span(work->ops).subspan(next);
    return std::any_of(left.begin(), left.end(), [](const Op &op) {
      return postern::writes(op.verb) && !(op.verb == Verb::script && op.script->reads_only());
    });
  }
  bool writes_next() const {
    if (all_done()) return false;
    const std::span<const Op> ops = ops_to_run();
    return std::any_of(ops.begin(), ops.end(), [](const Op &op) { return postern::writes(op.verb); });
  }
};

}  // namespace postern::door
