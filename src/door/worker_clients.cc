// worker_clients.cc: how clients come to a worker, and connections and turns come back.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/pool.h"
#include "door/worker.h"

namespace postern::door {

void Worker::give(std::unique_ptr<Connection> connection) noexcept {
  count_connection();
  return_connection(std::move(connection));
  // The watch would check the statement late, because there was no other client when it began.
  if (crew_->serving() != nullptr) context_.watch.arm(LoopWatch::Look::soon);
}

void Worker::return_connection(std::unique_ptr<Connection> connection) noexcept {
  if (!inbox_.put(connection)) connections_.discount(1);
  wake_.wake();
}

void Worker::return_writes(std::unique_ptr<WriteJob> job) noexcept {
  const auto count = static_cast<uint32_t>(job->clients().size());
  if (!inbox_.put(job)) connections_.discount(count);
  wake_.wake();
}

/// One at first, because most clients come alone; then more with each turn in which that many came.
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

void Worker::adopt(std::unique_ptr<Connection> connection) {
  if (connection->hosted() != nullptr) runs_.times().switch_on();
  connections_.add(std::move(connection));
}

/// The turn's progress is unknown: closes all connections.
void Worker::break_off() {
  tables_.give_up(*executor_);
  runs_.turn().clear();
  forget_statements();
  connections_.close_all();
  wake_.wake();  // the poller reports no more whoever has not been taken
}

/// The worker ends, and with it the connections that it has not taken home.
void Worker::end_loop() {
  permit_.give_back();
  if (executor_ != nullptr) executor_->idle();
  forget_statements();
  connections_.close_all();
  Arrivals refused = inbox_.close();
  while (refused.next() != nullptr) connections_.discount(1);
  WriteJobs writes = inbox_.take_writes();
  while (const std::unique_ptr<WriteJob> job = writes.next())
    connections_.discount(static_cast<uint32_t>(job->clients().size()));
  executor_.reset();
  pool::drain();
  const bool by_server = !stop_.load(std::memory_order_acquire);
  crew_->loop_is_over();
  if (by_server) context_.server_stopping(context_.door);
}

}  // namespace postern::door
