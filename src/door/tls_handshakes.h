// tls_handshakes.h: the TLS handshakes of a worker's connections: how many are under way, how many may go a step
// further in this turn, and how many connections wait for others to finish theirs.
//
// A step may take a millisecond while the worker holds tables, and a handshake some 150 KiB, so both are bounded. A
// worker has one of these, and its thread alone touches it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/counters.h"
#include "base/limits.h"
#include "door/connections/connection.h"
#include "door/connections/options.h"

namespace postern::door {

class TlsHandshakes {
 public:
  /// Everything outlives it.
  TlsHandshakes(const Options &options, Counters &counters) : options_(options), counters_(counters) {}
  TlsHandshakes(const TlsHandshakes &) = delete;
  TlsHandshakes &operator=(const TlsHandshakes &) = delete;

  /// Queued connections call begin() again in each turn.
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

  /// Whether the first byte of a connection begins a TLS handshake.
  static bool wanted_by(Connection &connection);
  /// False if too many are under way and this one is queued. Bytes received already go to the TLS channel, as the
  /// beginning of a handshake, so clear text is never taken for decrypted text.
  bool begin(Connection &connection);
  /// After a successful receive: completes the handshake if its last bytes have come.
  void note_received(Connection &connection);
  /// The connection is about to be closed.
  void forget(const Connection &connection);

  /// How many connections are queued.
  size_t waiting() const { return waiting_; }

 private:
  const Options &options_;
  Counters &counters_;
  uint32_t under_way_ = 0;
  uint32_t steps_left_ = 0;
  uint32_t waiting_ = 0;  // queued for the worker's next turn
};

}  // namespace postern::door
