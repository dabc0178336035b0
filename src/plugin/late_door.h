// late_door.h: LateDoor, which opens a door when its tables exist, so that a server without them has no open port.
//
// Owned by a plugin. Checks for the tables when the server is up, and then twice a second, on a thread of its own,
// which ends when the door is open.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "contract/executor.h"
#include "door/connections/thread.h"
#include "net/poller.h"

namespace postern::plugin {

class LateDoor {
 public:
  /// `name` is the plugin's, `waiting` the thread's text in the process list. `has_tables` may run ops and leaves the
  /// executor idle; `open` is called at most once. Both run on the thread; everything that they use outlives this.
  LateDoor(Engine &engine, std::string name, std::string waiting, std::function<bool(Executor &)> has_tables,
           std::function<void()> open);
  /// Ends the thread, whether or not the door is open.
  ~LateDoor();

  /// False if the system has no thread or no descriptor to give.
  [[nodiscard]] bool start();

 private:
  void work();

  Engine &engine_;
  const std::string name_;
  const std::string waiting_;
  const std::function<bool(Executor &)> has_tables_;
  const std::function<void()> open_;
  net::WakeFd wake_;
  net::Poller poller_;
  Counters counters_;
  std::atomic<bool> stop_{false};
  door::Thread thread_;
};

}  // namespace postern::plugin
