// executor.h: what a worker sees of any engine: Engine, which lets threads in, and Executor, one thread's way to
// the tables.
//
// The promises below are tested for every engine by executor_contract_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/counters.h"
#include "contract/op.h"

namespace postern {

enum class Access : uint8_t { read, write };

/// Who attaches. Everything outlives the executor.
struct ThreadIdentity {
  Access access = Access::read;
  const char *name = "";         ///< shown to administrators, e.g. "ping worker 3"
  int wake_fd = -1;              ///< an eventfd the engine writes to when the thread should look at standing()
  Counters *counters = nullptr;  ///< this thread's shard
};

/// Whether a thread may go on.
enum class Standing : uint8_t {
  good,
  stopping,  ///< the server is going down: destroy the executor now, on its thread
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Runs the ops in order and sets each op's progress.
  ///  - Every op either hears Reply::done() exactly once (progress done) or is left for later.
  ///  - If an op is paused or busy, later ops of the same connection are left waiting; other connections go on.
  ///  - All finds of one run read one consistent view that is opened after run() was entered.
  ///  - An op with a position (slow lane) may run as long as its reply lets it, and pauses when somebody waits for
  ///    its table; one without is bounded by limits::find_rows_fast_max and find_bytes_fast_max. About every
  ///    limits::rows_between_looks rows that such a find examines it asks Reply::look(), so that one without matches
  ///    ends or pauses, too. One that was paused gets beyond its place before it asks.
  ///  - Never waits for a lock that SQL may hold for long.
  virtual void run(std::span<Op> ops) = 0;

  /// About to sleep: hold no table, no metadata lock and no read view from here to the next run().
  virtual void idle() noexcept = 0;

  /// To be asked after a wake-up and after run().
  virtual Standing standing() noexcept = 0;

  /// What the thread does, for the process list; `text` is copied.
  virtual void describe(Bytes text) noexcept = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  /// Called on the thread that will use the executor. Waits until the server is ready to be used; returns nullptr
  /// if it goes down instead or if `stop` becomes true. `stop` outlives the executor; once it is true a scan pauses.
  virtual std::unique_ptr<Executor> attach(const ThreadIdentity &who, const std::atomic<bool> &stop) = 0;
};

}  // namespace postern
