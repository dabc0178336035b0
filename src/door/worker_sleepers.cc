// worker_sleepers.cc: sessions that sleep, and those that others have something for.
#include "door/worker.h"

namespace postern::door {

/// Those that were woken or called.
void Worker::take_sleepers() {
  bool woken = false;
  while (Sleeper *const sleeper = sleepers_.next(woken)) {
    Connection &connection = sleeper->connection;
    if (connection.ops_are_lent) continue;  // it comes up when it is home
    if (woken) wake(connection);
    lists_.add_to_this_turn(connection);
  }
}

/// Its session has said so. Nothing of it is under way.
void Worker::put_to_sleep(Connection &connection) {
  timeouts_.make_room_for_alarms(connection_count_.load(std::memory_order_relaxed));
  if (connection.sleeper == nullptr || !sleepers_.lay_down(*connection.sleeper)) return connection.wake_up();
  timeouts_.set_alarm(connection, connection.session->wake_ms());
  // The poller may have reported the client's end already: it is asked again.
  if (connection.unread()) connection.armed = 0;
}

/// It goes on, if it sleeps.
void Worker::wake(Connection &connection) {
  if (!connection.is_asleep()) return;
  sleepers_.take_out(*connection.sleeper);
  timeouts_.stop_alarm(connection);
  connection.wake_up();
}

/// Letters for its client follow the answers to its requests.
void Worker::deliver(Connection &connection) {
  if (connection.put_off != nullptr || (connection.phase() != Phase::open && !connection.is_asleep())) return;
  connection.sleeper->take_call();
  Delivered delivered = Delivered::close;
  guard_.on_behalf_of(connection, [&] { delivered = connection.session->deliver(); });
  connection.output.release();
  switch (delivered) {
    case Delivered::all: return;
    case Delivered::close: return connection.die();
    case Delivered::later: break;
  }
  connection.sleeper->keep_call();
  send_released(connection);
  if (!connection.output.above_high_water()) lists_.add_to_next_turn(connection);
}

}  // namespace postern::door
