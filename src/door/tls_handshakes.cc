#include "door/tls_handshakes.h"

#include <memory>

#include "net/tls_channel.h"

namespace postern::door {
namespace {

/// The first byte of a TLS connection, the type of a handshake record. No request of our protocols begins with it.
constexpr char tls_first_byte = 0x16;

}  // namespace

bool TlsHandshakes::wanted_by(Connection &connection) {
  return connection.input.unparsed().front() == tls_first_byte;
}

bool TlsHandshakes::begin(Connection &connection) {
  if (under_way_ >= limits::handshakes_max) {
    connection.queue_for_handshake();
    ++waiting_;
    return false;
  }
  const Bytes early(connection.input.unparsed().data(), connection.input.unparsed_bytes());
  connection.begin_handshake(
      net::AnyChannel(std::make_unique<net::TlsChannel>(connection.channel.release(), options_.tls->begin(), early)));
  ++under_way_;
  return true;
}

void TlsHandshakes::note_received(Connection &connection) {
  const auto &channel = static_cast<const net::TlsChannel &>(*connection.channel.other());
  if (channel.greeting()) return;
  --under_way_;
  counters_.add(Counter::tls_connections);
  if (channel.resumed()) counters_.add(Counter::tls_resumptions);
  connection.finish_handshake();  // last: it may run out of memory
}

void TlsHandshakes::forget(const Connection &connection) {
  const Phase phase = connection.last_phase();
  if (phase == Phase::queued && connection.in_next_turn) --waiting_;
  if (phase != Phase::handshaking) return;
  --under_way_;
  counters_.add(Counter::tls_handshakes_failed);
}

}  // namespace postern::door
