// sweeper.h: Sweeper, a thread that tidies up once a second, as long as the server takes writes of its own. Where rows
// of a binary log are replayed it rests, and for some minutes after the last of them: they may name rows that it would
// delete.
//
// Owned by a plugin.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "contract/executor.h"
#include "door/connections/thread.h"
#include "net/poller.h"

namespace postern::plugin {

class Sweeper {
 public:
  /// One round, which calls its argument before each step and stops if that returns false, and returns how many rows it
  /// has deleted. On the thread; leaves the executor idle.
  using Round = std::function<uint64_t(Executor &, const std::function<bool()> &)>;

  /// `name` is the plugin's. What `round` uses outlives this.
  Sweeper(Engine &engine, std::string name, Round round);
  /// Ends the thread.
  ~Sweeper();

  /// False if the system has no thread or no descriptor to give.
  [[nodiscard]] bool start();

  /// Rows deleted since the start. Any thread.
  uint64_t deleted() const { return deleted_.load(std::memory_order_relaxed); }

 private:
  void work();
  bool may_write();
  bool is_replayed();

  Engine &engine_;
  const std::string name_;
  const Round round_;
  net::WakeFd wake_;
  net::Poller poller_;
  Counters counters_;
  std::atomic<uint64_t> deleted_{0};
  std::atomic<bool> stop_{false};
  uint64_t replayed_ = 0;  // statements, at the last look; the thread's, as all members below
  int64_t rests_until_ms_ = 0;
  door::Thread thread_;
};

}  // namespace postern::plugin
