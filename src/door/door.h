// door.h: one listening protocol: its sockets, its workers, its slow lane and its write lane.
//
// Owned by the plugin. start() and stop() are called by one thread; everything else by any. Mutexes of this folder, in
// the order they may be taken: Reception::mutex_ or SlowLane::mutex_, then Inbox::mutex_; WriteLane::mutex_,
// Crew::mutex_ and LoopWatch::mutex_ by themselves. No call into the engine or a protocol is made with any of them
// held, with two exceptions: destructors of a closed connection, and the opening of a session under the reception's
// mutex.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/descriptors.h"
#include "base/histogram.h"
#include "contract/executor.h"
#include "contract/session.h"
#include "door/connections/options.h"
#include "door/connections/roster.h"
#include "door/lanes/crew.h"
#include "door/lanes/loop_watch.h"
#include "door/lanes/slow_lane.h"
#include "door/lanes/statement_pool.h"
#include "door/connections/thread.h"
#include "door/reception.h"
#include "door/worker.h"
#include "door/lanes/write_lane.h"
#include "net/poller.h"

namespace postern::door {

class Door {
 public:
  /// `protocol` and `engine` outlive the door.
  Door(Options options, Protocol &protocol, Engine &engine, Access access);
  ~Door();

  /// Binds, so that a wrong address or a taken port is reported at once, and starts all threads. False with `error` set
  /// and nothing left. Listens at once if the engine is up, else as soon as every worker is ready: clients that connect
  /// before are refused.
  [[nodiscard]] bool start(std::string &error);
  /// Closes every connection and joins every thread. Idempotent; takes no longer than a worker's turn.
  void stop();
  /// Makes another thread's stop() not wait for the calling thread, which may serve a session of this door.
  void spare_caller();

  /// Takes a socket that the server has accepted; the protocol's session owns it and lends it to the connection. False
  /// if it cannot. Throws std::bad_alloc.
  bool take(int socket, bool local) { return reception_.take(socket, local); }

  /// Whether clients can connect.
  bool listening() const { return reception_.listening(); }
  /// Number of workers of a door with these options, and of its descriptors besides those of its clients.
  static uint32_t threads_wanted(const Options &options);
  static uint32_t descriptors_wanted(const Options &options);

  uint32_t connections() const { return reception_.connections(); }
  uint32_t connections_peak() const { return reception_.connections_peak(); }
  /// Number of workers, once it has started.
  uint32_t threads() const { return static_cast<uint32_t>(workers_.size()); }
  /// Adds the counters of all threads.
  void add_counters(Counters &sum) const;
  /// Figures of statements that its workers served themselves.
  Crew::Figures figures() const;
  /// Adds the latencies of requests that were answered within a turn.
  void add_latencies(Latencies &sum) const;
  /// Its connections, for INFORMATION_SCHEMA. Any thread; remaining connections may outlive the door.
  Roster &roster() const { return *roster_; }
  const Options &options() const { return options_; }
  /// Takes over the Changing members of `options`. Any thread.
  void change(const Options &options);
  Access access() const { return access_; }
  /// The TCP port it is bound to once it has started, also where the options ask for any; 0: none.
  uint16_t port() const { return reception_.port(); }

 private:
  bool start_all(std::string &error);
  void note_ready();
  size_t ready_wanted() const;
  void listen_when_ready();
  void watch();
  void keep();
  void wait_for_wake(int timeout_ms) const;

  Options options_;  // change() changes the Changing ones
  Protocol &protocol_;
  Engine &engine_;
  const Access access_;
  descriptors::Held descriptors_;
  SlowLane slow_lane_;
  std::unique_ptr<WriteLane> write_lane_;  // where the door writes
  StatementPool statements_;
  LoopWatch watch_;
  const Roster::Owner roster_ = Roster::make();
  std::vector<std::unique_ptr<Worker>> workers_;
  net::WakeFd wake_;  // wakes the keeper
  Reception reception_{options_, protocol_, engine_, *roster_, workers_, wake_};
  std::atomic<bool> stop_{false};
  std::atomic<size_t> ready_{0};  // ready workers, and the write lane
  bool cannot_listen_ = false;    // used by the keeper
  Thread keeper_;
};

}  // namespace postern::door
