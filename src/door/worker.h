// worker.h: one thread of a door with its own connections, its own executor and its own counters.
//
// Workers share nothing mutable. Others reach a worker through its inbox only.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/counters.h"
#include "contract/batch.h"
#include "contract/executor.h"
#include "contract/session.h"
#include "door/connection.h"
#include "door/settings.h"
#include "door/slow_lane.h"
#include "door/thread.h"
#include "net/poller.h"

namespace postern::door {

class Worker final : private Watcher {
 public:
  /// Everything outlives the worker.
  struct Context {
    const Settings &settings;
    Protocol &protocol;
    Engine &engine;
    SlowLane &slow_lane;
    Access access;
    /// Called by a worker that leaves because the server goes down.
    void (*server_stopping)(void *door);
    void *door;
  };

  Worker(const Context &context, std::string name);
  ~Worker() override;

  [[nodiscard]] bool start();
  /// Asks the thread to close everything and leave. Any thread; join() waits for it.
  void stop();
  void join();

  /// A new connection. Any thread.
  void give(net::Fd socket, const Peer &peer);
  /// A connection back from the slow lane, its ops done unless it is dead. Any thread.
  void take_back(std::unique_ptr<Connection> connection);

  /// Connections given and not yet closed. Any thread.
  uint32_t connections() const { return connection_count_.load(std::memory_order_relaxed); }
  const Counters &counters() const { return counters_; }

 private:
  /// The ops of one connection in the batch.
  struct Slice {
    Connection *connection;
    size_t first;
    size_t count;
    Output::Mark mark;            // where their replies begin
    bool answered = false;        // and sent, while the rest of the run went on
    size_t bytes_sent_ahead = 0;  // of replies that were the connection's in this turn, too
  };

  /// Connections in the order of active_ms.
  struct List {
    Connection *oldest = nullptr;
    Connection *newest = nullptr;
  };

  void work();
  void run_turn();
  size_t wait();
  void receive(size_t event_count);
  void receive_from(Connection &connection);
  void begin_greeting(Connection &connection);
  void note_greeting(Connection &connection);
  void refuse(Connection &connection, Failure why);
  void gather();
  void collect();
  void execute();
  size_t put_readers_first();
  void run(std::span<Slice> slices);
  void run_again(std::span<const Slice> slices);
  void answered(const Op &op) override;
  void send_ahead(Slice &slice, size_t answered);
  void take_back_replies(const Slice &slice);
  bool writes_anything(const Slice &slice);
  void settle(std::span<const Slice> slices, std::shared_ptr<Arena> &batch_arena);
  void settle_answered(Connection &connection);
  void send();
  void tend();

  void take_inbox();
  void adopt(std::unique_ptr<Connection> connection);
  void collect_from(Connection &connection, size_t room);
  void leave_unanswered(const Slice &slice, size_t first_unfinished, std::shared_ptr<Arena> &batch_arena);
  void leave_for_slow_lane(Connection &connection);
  void send_to(Connection &connection);
  void send_released(Connection &connection);
  void arm(Connection &connection);
  void make_ready(Connection &connection);
  void carry(Connection &connection);
  void touch(Connection &connection);
  void note_beginning(Connection &connection);
  List &list_of(const Connection &connection) { return connection.begun ? begun_ : idle_; }
  void link_newest(Connection &connection);
  void unlink(Connection &connection);
  int64_t begun_timeout_ms() const;
  void close_silent();
  void close_unfinished();
  void make_way_for_greetings();
  void close(Connection &connection);
  void close_all();
  void go_idle();

  const Context context_;
  const std::string name_;
  Counters counters_;
  net::Poller poller_;
  net::WakeFd wake_;
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> connection_count_{0};

  std::mutex inbox_mutex_;  // a leaf
  std::vector<std::unique_ptr<Connection>> inbox_;
  bool inbox_closed_ = false;

  // The thread's own.
  std::unique_ptr<Executor> executor_;
  Batch batch_;
  std::vector<epoll_event> events_;
  std::vector<Connection *> ready_;    // of this turn
  std::vector<Connection *> carried_;  // for the next turn
  std::vector<Connection *> resumed_;  // carried from the turn before
  std::vector<Slice> slices_;
  Slice *running_ = nullptr;   // the slice of the run that has been answered last, or the first one
  bool sends_early_ = false;   // each connection of the run, however little it is
  std::vector<Op> reordered_;  // scratch of put_readers_first()
  std::vector<Connection *> dead_;
  List idle_;  // not in the middle of anything that the client has to finish
  List begun_;
  uint32_t greetings_ = 0;          // connections whose handshake is under way
  uint32_t greetings_left_ = 0;     // that may go on in this turn
  uint32_t greetings_waiting_ = 0;  // of carried_, those that found no place among greetings_
  int64_t gathering_us_ = 0;        // how long the next batch may wait for others to join it
  int64_t now_ms_ = 0;
  int64_t executed_ms_ = 0;  // when the turn began that last ran a batch
  bool holds_tables_ = false;
  uint32_t described_connections_ = UINT32_MAX;

  Thread thread_;
};

}  // namespace postern::door
