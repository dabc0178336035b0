// worker.h: Worker, one event loop of a door with its own connections, executor and counters.
//
// Workers share nothing mutable. Other threads reach a worker only through its inbox. One thread of its crew has the
// loop at a time: that is the worker's thread.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "contract/executor.h"
#include "contract/session.h"
#include "door/worker_connections.h"
#include "door/connections/connection.h"
#include "door/connections/options.h"
#include "door/connections/turn.h"
#include "door/connections/turn_clock.h"
#include "door/connections_shown.h"
#include "door/kept_tables.h"
#include "door/lanes/crew.h"
#include "door/lanes/inbox.h"
#include "door/lanes/loop_watch.h"
#include "door/lanes/permits.h"
#include "door/lanes/siblings.h"
#include "door/lanes/slow_lane.h"
#include "door/lanes/statement_pool.h"
#include "door/lanes/write_job.h"
#include "door/lanes/write_lane.h"
#include "door/memory_guard.h"
#include "door/reception.h"
#include "door/statements_here.h"
#include "door/turn_runs.h"
#include "net/poller.h"

namespace postern::door {

class Worker final : private WaitListener, private WayOut, public Home {
 public:
  /// Everything outlives the worker.
  struct Context {
    const Options &options;
    Protocol &protocol;
    Engine &engine;
    SlowLane &slow_lane;
    WriteLane *write_lane;  ///< nullptr: there is none
    StatementPool &statements;
    Reception &reception;
    LoopWatch &watch;
    Access access;
    /// Called by a worker that ends because the server shuts down.
    void (*server_stopping)(void *door);
    /// Called once by a worker that is ready for requests.
    void (*worker_ready)(void *door);
    void *door;
  };

  /// `number`: from 1. The process list shows the first worker of a door always, and others while they have clients.
  Worker(const Context &context, uint32_t number);
  ~Worker() override;

  [[nodiscard]] bool start();
  /// Asks the thread to close everything and end. Any thread; join() waits for it.
  void stop();
  void join();
  /// Makes join() not wait for the calling thread, if that serves a statement of this worker.
  void spare_caller() { crew_->spare_caller(); }
  /// Wakes the worker after the door's options have changed: a timeout may be due sooner. Any thread.
  void look_again() { wake_.wake(); }

  /// A connection of a new client, to be given to this worker; `local`: it came through a unix socket. Throws
  /// std::bad_alloc; the socket is closed then. Any thread.
  std::unique_ptr<Connection> make_connection(net::AnyChannel channel, descriptors::Held descriptor, bool local,
                                              Roster &roster) const {
    return connections_.make(std::move(channel), std::move(descriptor), local, roster);
  }
  /// Makes it accept clients at `socket`, as soon as it runs, unless it does already; false, errno set, if the kernel
  /// refuses. Any thread.
  [[nodiscard]] bool watch(net::Listener &socket) {
    return poller_.add(socket.fd(), net::Poller::readable | net::Poller::for_one, &socket) || errno == EEXIST;
  }
  void stop_watching(const net::Listener &socket) { poller_.remove(socket.fd()); }
  /// Counts a new connection that the worker has accepted itself.
  void count_connection() { connections_.count_one(); }
  /// Takes a new connection. Any thread.
  void give(std::unique_ptr<Connection> connection) noexcept;
  void return_connection(std::unique_ptr<Connection> connection) noexcept override;
  void return_writes(std::unique_ptr<WriteJob> job) noexcept override;

  /// Connections given and not yet closed. Any thread.
  uint32_t connections() const { return connections_.count(); }
  void add_counters(Counters &sum) const;
  void add_figures(Crew::Figures &sum) const { crew_->add_figures(sum); }
  /// Adds how long requests took in the last minutes. Any thread.
  void add_latencies(Latencies &sum) const { clock_.add_latencies(sum); }

 private:
  static void work(void *self, Crew::Member &me);
  void begin_loop();
  void end_loop();
  void break_off();

  std::unique_ptr<SlowJob> run_until_statement();
  std::unique_ptr<SlowJob> next_statement();

  // worker_statements.cc: statements that the server serves, on this thread or on one of the pool.
  void leave_turn(Connection &connection) override;
  void leave_for_pool(std::unique_ptr<SlowJob> job);
  void lend_thread(SlowJob &job);
  void take_thread_back(std::unique_ptr<SlowJob> job, bool alive);
  void take_job_back(std::unique_ptr<SlowJob> job);
  void take_loop_over();
  void forget_statements();

  // The steps of a turn, and their parts.
  void run_turn();
  size_t wait();
  void receive(size_t event_count);
  void accept_clients(net::Listener &socket);
  void adopt(std::unique_ptr<Connection> connection);
  void await_writers();
  void collect();
  void collect_from(Connection &connection, const Turn::Slice &slice);
  void execute();

  void thread_waits() noexcept override {
    permit_.give_back();
    sibling_.pause_turn();
  }

  const Context context_;
  const std::string name_;
  Counters counters_;
  net::Poller poller_;
  net::WakeFd wake_;
  std::atomic<bool> stop_{false};
  const std::shared_ptr<Crew> crew_;
  Inbox inbox_;

  // Used by the worker's thread alone, except where some of its clients use it.
  std::unique_ptr<Executor> executor_;
  MemoryGuard guard_;
  WorkerConnections connections_;
  const bool has_writers_;  // its clients may write
  TurnRuns runs_;
  KeptTables tables_;
  std::vector<epoll_event> events_;
  uint32_t accepts_max_ = 1;  // in the next turn
  TurnClock clock_;
  StatementsHere statements_here_;
  std::unique_ptr<SlowJob> spare_job_;  // for the next statement that leaves a turn
  ConnectionsShown shown_;
  Permit permit_;  // to run
  Sibling sibling_;
  int64_t now_ms_ = 0;
};

}  // namespace postern::door
