#include "door/greetings.h"

#include <memory>

#include "net/plain_channel.h"
#include "net/tls_channel.h"

namespace postern::door {
namespace {

/// What a TLS connection begins with, the type of a handshake record. No protocol of ours has a request like that.
constexpr char tls_first_byte = 0x16;

}  // namespace

bool Greetings::wanted_by(Connection &connection) {
  return connection.input.unparsed().front() == tls_first_byte;
}

bool Greetings::begin(Connection &connection) {
  Input &input = connection.input;
  connection.more = false;
  if (under_way_ >= limits::handshakes_max) {
    ++waiting_;
    return false;
  }
  const Bytes early(input.unparsed().data(), input.unparsed_bytes());
  auto &plain = static_cast<net::PlainChannel &>(*connection.channel);
  connection.channel = std::make_unique<net::TlsChannel>(plain.release(), settings_.tls->begin(), early);
  input.consume(input.unparsed_bytes());
  input.settle();
  connection.fresh = false;
  connection.tls = connection.greeting = true;
  ++under_way_;
  connection.session = protocol_.greet(connection.output, {.local = connection.local, .fd = connection.channel->fd()});
  return true;
}

void Greetings::note_received(Connection &connection) {
  const auto &channel = static_cast<const net::TlsChannel &>(*connection.channel);
  if (connection.dead || channel.greeting()) return;
  connection.greeting = false;
  --under_way_;
  counters_.add(Counter::tls_connections);
  if (channel.resumed()) counters_.add(Counter::tls_resumptions);
}

void Greetings::forget(const Connection &connection) {
  if (connection.carried && connection.is_queued()) --waiting_;
  if (!connection.greeting) return;
  --under_way_;
  counters_.add(Counter::tls_handshakes_failed);
}

}  // namespace postern::door
