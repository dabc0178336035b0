// reception.h: Reception, which accepts a door's clients: its listening sockets, and the choice of a worker for each
// client.
//
// Owned by its door. Every worker's poller watches the sockets, and the kernel wakes one of those that sleep. That
// worker accepts the client, and keeps it where no other has fewer, so that a connection wakes no second thread. Else
// the worker with the fewest connections gets it. The door's keeper, a thread, opens and closes the reception, and
// pauses it while the process can neither accept a client nor refuse it, or the kernel refuses a worker's watch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/descriptors.h"
#include "contract/executor.h"
#include "contract/session.h"
#include "door/connections/connection.h"
#include "door/connections/options.h"
#include "door/connections/roster.h"
#include "net/listener.h"
#include "net/poller.h"

namespace postern::door {

class Worker;

class Reception {
 public:
  using Workers = std::vector<std::unique_ptr<Worker>>;

  /// Everything outlives it. `keeper` wakes the keeper.
  Reception(const Options &options, Protocol &protocol, Engine &engine, Roster &roster, const Workers &workers,
            const net::WakeFd &keeper);
  ~Reception();
  Reception(const Reception &) = delete;
  Reception &operator=(const Reception &) = delete;

  // For the door's thread, before the workers start.

  /// Binds the addresses of the options. False with `error` set.
  bool bind(std::string &error);
  /// Opens a spare descriptor, with which it can refuse a client when the process has no other left.
  void keep_reserve();
  uint16_t port() const { return port_; }

  // For the keeper, or the door's thread before the keeper starts.

  /// Clients may connect; they wait in the kernel's queue until watch().
  bool listen(std::string &error);
  /// Makes all workers watch the sockets. False, errno set, if the kernel refuses some of them; must_rest() is true
  /// then, and the others watch.
  bool watch();
  /// Whether some workers do not watch: the keeper calls watch() again after a pause. No worker watches while the
  /// process can neither accept nor refuse a client.
  bool must_rest();
  /// Closes the sockets: clients cannot connect any more.
  void close();

  // For a worker, on its thread.

  /// The socket that a poller's tag stands for; nullptr: none.
  net::Listener *socket_of(const void *tag) {
    for (net::Listener &socket : sockets_)
      if (&socket == tag) return &socket;
    return nullptr;
  }
  enum class Came : uint8_t {
    here,       ///< the calling worker has the client, and no other thread knows it yet
    elsewhere,  ///< another worker has it, or it was refused
    nobody,     ///< no client waits
  };
  /// Accepts one client at `socket` for the calling worker.
  Came accept(net::Listener &socket, Worker &worker, std::unique_ptr<Connection> &connection);

  // Any thread.

  /// See Door::take().
  bool take(int socket, bool local);
  bool listening() const { return listening_.load(std::memory_order_relaxed); }
  uint32_t connections() const;
  uint32_t connections_peak() const { return connections_peak_.load(std::memory_order_relaxed); }
  void add_counters(Counters &sum) const { sum.absorb(counters_); }

 private:
  bool add_socket(const net::Address &address, std::string &error);
  void stop_watching();
  void rest();
  bool refuse_with_reserve(net::Listener &socket);
  Came deal(net::Fd accepted, net::Listener &socket, Worker &worker, std::unique_ptr<Connection> &connection);
  Worker &least_busy(Worker *worker) const;
  std::unique_ptr<Connection> make(Worker &worker, net::AnyChannel channel, descriptors::Held descriptor, bool local);
  void note_accepted(uint32_t connections);
  void note_no_memory();
  void refuse(net::Fd socket);

  const Options &options_;
  Protocol &protocol_;
  Engine &engine_;
  Roster &roster_;
  const Workers &workers_;
  const net::WakeFd &keeper_;
  std::vector<net::Listener> sockets_;  // those that bind() made
  uint16_t port_ = 0;
  std::atomic<bool> listening_{false};
  std::atomic<uint32_t> connections_peak_{0};

  std::mutex mutex_;  // guards the members below, and watched sockets; taken before those of rosters and inboxes
  Counters counters_;
  net::Fd reserve_;
  bool watched_ = false;  // whether the workers watch
  bool must_rest_ = false;
};

}  // namespace postern::door
