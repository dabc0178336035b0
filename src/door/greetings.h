// greetings.h: the TLS handshakes of a worker's connections: how many are under way, how many may go a step further in
// this turn, and how many connections wait for others to finish theirs.
//
// A step may take a millisecond while tables are held, and a handshake some 150 KiB, so that both are bounded.
// A worker has one of these, and its thread alone touches it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/counters.h"
#include "base/limits.h"
#include "contract/session.h"
#include "door/connection.h"
#include "door/settings.h"

namespace postern::door {

class Greetings {
 public:
  /// Everything outlives it.
  Greetings(const Settings &settings, Protocol &protocol, Counters &counters)
      : settings_(settings), protocol_(protocol), counters_(counters) {}
  Greetings(const Greetings &) = delete;
  Greetings &operator=(const Greetings &) = delete;

  /// Whoever waits has to ask again.
  void begin_turn() {
    steps_left_ = limits::handshakes_per_turn_max;
    waiting_ = 0;
  }
  /// Whether one more handshake may go a step further in this turn.
  bool may_step() {
    if (steps_left_ == 0) return false;
    --steps_left_;
    return true;
  }

  /// Whether what a connection begins with is TLS.
  static bool wanted_by(Connection &connection);
  /// False if there are so many that this one has to wait.
  bool begin(Connection &connection);
  /// What a receive brought a handshake.
  void note_received(Connection &connection);
  /// The connection is about to be closed.
  void forget(const Connection &connection);

  size_t waiting() const { return waiting_; }

 private:
  const Settings &settings_;
  Protocol &protocol_;
  Counters &counters_;
  uint32_t under_way_ = 0;
  uint32_t steps_left_ = 0;
  uint32_t waiting_ = 0;  // carried to the next turn by their worker
};

}  // namespace postern::door
