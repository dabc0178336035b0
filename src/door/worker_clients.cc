// worker_clients.cc: how clients come to a worker, and connections come back.
#include <algorithm>
#include <memory>
#include <utility>

#include "door/lanes/crew_limits.h"
#include "door/worker.h"

namespace postern::door {

std::unique_ptr<Connection> Worker::make_connection(net::AnyChannel channel, descriptors::Held descriptor,
                                                    bool local) const {
  return std::make_unique<Connection>(
      std::move(channel), std::move(descriptor), context_.protocol, local,
      Connection::Tls{.offered = context_.options.tls != nullptr && context_.options.tls->loaded(),
                      .required = context_.options.tls != nullptr && context_.options.require_tls},
      sleepers_);
}

void Worker::give(std::unique_ptr<Connection> connection) noexcept {
  count_connection();
  return_connection(std::move(connection));
  // It would be looked at late, for there was nobody else when it began.
  if (crew_->serving() != nullptr) context_.watch.arm(LoopWatch::Look::soon);
}

void Worker::return_connection(std::unique_ptr<Connection> connection) noexcept {
  if (!inbox_.put(connection)) connection_count_.fetch_sub(1, std::memory_order_relaxed);
  wake_.wake();
}

/// One at first, for most clients come alone; then more with each turn in which there were as many.
void Worker::accept_clients(net::Listener &socket) {
  uint32_t left = accepts_max_;
  for (; left != 0; --left) {
    std::unique_ptr<Connection> connection;
    const Reception::Came came = context_.reception.accept(socket, *this, connection);
    if (came == Reception::Came::nobody) break;
    if (connection != nullptr) adopt(std::move(connection));
  }
  accepts_max_ = left == 0 ? std::min(2 * accepts_max_, limits::accepts_per_turn_max) : 1;
}

void Worker::adopt(std::unique_ptr<Connection> owned) {
  Connection &connection = *owned;
  connection.output.bound_to_turn();
  const bool all_done = connection.put_off == nullptr;
  guard_.on_behalf_of(connection, [&] {
    const size_t count = connection_count_.load(std::memory_order_relaxed);
    lists_.make_room_for(count);
    timeouts_.make_room_for(connection, count);
  });
  if (!lists_.has_room()) {
    counters_.add(Counter::connections_closed);
    connection_count_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  if (connection.hosted() != nullptr) times_.switch_on();
  connection.ops_are_lent = false;
  connection.come_home(all_done);
  if (connection.session_is_open()) {
    if (all_done) guard_.on_behalf_of(connection, [&] { note_settled(connection); });
  } else {
    guard_.on_behalf_of(connection, [&] { connection.begin(); });
    if (connection.is_dead() && connection.hosted() != nullptr) counters_.add(Counter::logins_failed);
  }
  connection.armed = connection.events_to_receive();
  // The socket of a session that has ended may be another's by now.
  if (!connection.is_dead() && !poller_.add(connection.channel.fd(), connection.armed, &connection)) connection.die();
  if (connection.sleeper != nullptr) sleepers_.bring_home(*connection.sleeper);
  timeouts_.add(*owned.release(), now_ms_);
  lists_.add_to_this_turn(connection);
}

}  // namespace postern::door
