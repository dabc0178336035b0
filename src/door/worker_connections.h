// worker_connections.h: WorkerConnections, the connections of a worker: keeps and counts them, receives and sends,
// wakes sleeping ones, and ends them, with or without an error message.
//
// A worker has one. Used by the thread that has the worker's loop; any thread may make a connection for it, and count.
// It knows nothing of batches and executors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/counters.h"
#include "base/descriptors.h"
#include "base/failure.h"
#include "base/limits.h"
#include "contract/session.h"
#include "door/connections/connection.h"
#include "door/connections/options.h"
#include "door/connections/sleepers.h"
#include "door/lanes/statement_pool.h"
#include "door/memory_guard.h"
#include "door/timeouts.h"
#include "door/tls_handshakes.h"
#include "door/turn_lists.h"
#include "net/any_channel.h"
#include "net/poller.h"

namespace postern::door {

class WorkerConnections {
 public:
  /// Everything outlives it.
  struct Context {
    const Options &options;
    Protocol &protocol;
    StatementPool &statements;  ///< ends sessions of the server
    net::Poller &poller;        ///< a socket's tag is its connection
    const net::WakeFd &doorbell;
    Counters &counters;
    MemoryGuard &guard;
  };
  explicit WorkerConnections(const Context &context);
  WorkerConnections(const WorkerConnections &) = delete;
  WorkerConnections &operator=(const WorkerConnections &) = delete;

  // Any thread.

  /// Makes the connection of a new client, to be given to its worker; `local`: it came through a unix socket. Throws
  /// std::bad_alloc; the socket is closed then.
  std::unique_ptr<Connection> make(net::AnyChannel channel, descriptors::Held descriptor, bool local,
                                   Roster &roster) const;
  /// Counts a connection that the worker is about to get.
  void count_one() { count_.fetch_add(1, std::memory_order_seq_cst); }
  /// Uncounts connections that will not come.
  void discount(uint32_t number) { count_.fetch_sub(number, std::memory_order_relaxed); }
  /// The connections counted and not yet closed, wherever they are.
  uint32_t count() const { return count_.load(std::memory_order_relaxed); }
  /// The same, sequentially consistent with the calling thread's other writes.
  uint32_t count_now() const { return count_.load(std::memory_order_seq_cst); }

  // A turn, in this order.

  void set_time(int64_t now_ms) { now_ms_ = now_ms; }
  /// Begins the turn with the connections that the last one left for it.
  void resume() {
    tls_handshakes_.begin_turn();
    lists_.begin_turn([this](Connection &connection) { go_on_with(connection); });
  }
  /// Notes the poller's events for a connection. Inlined, because it runs in each turn for each client.
  [[gnu::always_inline]] void note_events(Connection &connection, uint32_t events) {
    if (connection.ops_are_lent) return note_event_away(connection, events);
    if (events & net::Poller::readable || (connection.has_tls() && connection.channel.wishes().writable_to_receive)) {
      context_.guard.on_behalf_of(connection, [&] { receive(connection); });
      if (events & net::Poller::ended) note_end(connection);
    } else if (events & net::Poller::hung_up) {
      connection.die();
    } else if (events & net::Poller::ended && connection.is_asleep()) {
      note_end(connection);
    }
    lists_.add_to_this_turn(connection);
  }
  /// Adds connections that were woken, or that messages wait for.
  void take_woken();
  /// The connections of this turn. Valid until one is added or leaves.
  const TurnLists::List &in_turn() const { return lists_.this_turn(); }
  /// Sends the rest, and ensures that each connection of the turn comes up again when it has work.
  void finish() {
    for (Connection *const connection : lists_.this_turn()) finish_with(*connection);
  }
  /// Closes connections that are dead or timed out.
  void end_turn();

  /// Whether the next turn begins with some connections, and need not wait for events.
  bool are_at_work() const { return lists_.next_turn_size() > tls_handshakes_.waiting(); }
  bool any_left() const { return lists_.next_turn_size() != 0; }
  /// Milliseconds until one of them is due; INT64_MAX: never.
  int64_t left_ms() const {
    const int64_t left_ms = timeouts_.left_ms(now_ms_);
    return tls_handshakes_.waiting() == 0 ? left_ms : std::min<int64_t>(left_ms, limits::handshake_look_ms);
  }

  // Operations on one connection.

  /// Adds a connection that is new, or comes back by the inbox. Closes it if there is no memory for it.
  void add(std::unique_ptr<Connection> connection);
  void receive(Connection &connection);
  /// Sends the released bytes, as far as the socket takes them.
  void send(Connection &connection) {
    if (!connection.is_dead() && !connection.output.sendable().empty()) send_released(connection);
  }
  /// Notes that it has finished a request.
  void note_progress(Connection &connection) { timeouts_.note_progress(connection, now_ms_); }
  /// Called when all its collected requests are answered.
  void settle(Connection &connection);
  /// Puts it to sleep, as its session asked. None of its ops is under way.
  void put_to_sleep(Connection &connection);
  /// Sends the client an error, and closes the connection after that. Unanswered requests are dropped.
  void refuse(Connection &connection, Failure why);

  /// Lends its ops to another thread; its socket stays watched, and it cannot be closed.
  void lend(Connection &connection) {
    connection.ops_are_lent = true;
    timeouts_.remove(connection);
  }
  /// Ends lend() within a turn, and adds it to that turn.
  void take_into_turn(Connection &connection);
  /// Ends lend() between two turns. `all_done`: none of its ops is left.
  void take_back(Connection &connection, bool all_done);
  /// The pool serves one statement of it, until add(). Its socket stays watched, which spares two changes of the poller
  /// and a receive in vain.
  static void let_be_served(Connection &connection) { connection.ops_are_lent = connection.is_served_away = true; }
  /// Releases it, for the slow lane or the pool. Its socket stays watched.
  std::unique_ptr<Connection> let_go(Connection &connection);
  /// For a connection that is no longer here.
  void stop_watching(Connection &connection) {
    connection.armed = 0;
    context_.poller.remove(connection.channel.fd());
  }
  void close(Connection &connection);
  void close_all();

 private:
  void watch(Connection &connection);
  void go_on_with(Connection &connection);
  void send_released(Connection &connection);
  void note_end(Connection &connection);
  void note_event_away(Connection &connection, uint32_t events);
  void look_at_first_byte(Connection &connection);
  void begin_handshake(Connection &connection);
  void note_settled(Connection &connection);
  void finish_with(Connection &connection);
  void deliver(Connection &connection);
  void wake(Connection &connection);
  void arm(Connection &connection);
  void close_unfinished();
  void make_way_for_handshakes();
  void time_out(Connection &connection);
  void close_dead();

  const Context context_;
  std::atomic<uint32_t> count_{0};
  mutable Sleepers sleepers_;
  TurnLists lists_;
  Timeouts timeouts_;
  TlsHandshakes tls_handshakes_;
  int64_t now_ms_ = 0;
};

}  // namespace postern::door
