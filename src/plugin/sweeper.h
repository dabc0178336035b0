// sweeper.h: Sweeper, a thread that deletes expired rows once a second, as long as the server accepts writes. It pauses
// while rows of a binary log are replayed, and for some minutes after the last of them, because they may need rows that
// it would delete.
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
  /// One round: calls its argument before each step, stops if that returns false, and returns the number of deleted
  /// rows. Runs on the thread; leaves the executor idle.
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
  uint64_t replayed_ = 0;  // statements, at the last check; used by the thread, as all members below
  int64_t rests_until_ms_ = 0;
  door::Thread thread_;
};

}  // namespace postern::plugin
