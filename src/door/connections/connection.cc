#include "door/connections/connection.h"

#include <cassert>

#include "base/slab.h"
#include "contract/server_session.h"
#include "net/lent_channel.h"

namespace postern::door {
namespace {

/// A client that fills its room gets more the next time; one that needs little gets less.
uint16_t next_room(uint32_t room, const net::Transfer &got) {
  constexpr size_t room_max = limits::block_bytes_recycled_max - Input::head_bytes;
  static_assert(room_max <= UINT16_MAX);
  if (got.filled) return static_cast<uint16_t>(std::min(2 * std::max<size_t>(room, got.bytes), room_max));
  return static_cast<uint16_t>(got.bytes >= room / 4 ? room : room / 2);
}

}  // namespace

Connection::Connection(net::AnyChannel its_channel, descriptors::Held its_descriptor, Protocol &protocol, bool is_local,
                       Tls tls, Sleepers &sleepers, Roster &roster)
    : descriptor(std::move(its_descriptor)),
      channel(std::move(its_channel)),
      phase_(tls.offered && protocol.tls_begins() == TlsBegins::with_the_first_byte ? Phase::sniffing : Phase::open),
      local_(is_local),
      tls_offered_(tls.offered),
      tls_required_(tls.required),
      listed(roster) {
  session = protocol.open_session(output, *this);
  if (session->may_sleep()) aside_.become(std::make_unique<Sleeper>(sleepers, *this));
}

void *Connection::operator new(size_t bytes) {
  return slab_of<Connection>.take(bytes);
}

void Connection::operator delete(void *connection, size_t bytes) noexcept {
  slab_of<Connection>.give_back(connection, bytes);
}

void Connection::become(Phase phase) {
  assert(may_become(phase_, phase));
  phase_ = phase;
}

void Connection::become_open() {
  become(Phase::open);
  let_session_open();
}

void Connection::let_session_open() {
  if (session_is_open_) return;
  session_is_open_ = true;
  if (sleeper() != nullptr) session->take_waker(*sleeper());
  session->open();
  output.release();
}

void Connection::begin() {
  if (phase_ == Phase::open) let_session_open();
  ServerSession *const server = hosted();
  if (server == nullptr) return;
  unparsed_ = !is_greeted(*server);
  unread_ = false;  // the poller, once it watches the socket, reports bytes that have come
}

/// A client that begins TLS answers the greeting with so many bytes. Those that follow belong to its handshake, which
/// the server does by itself, from the socket; every other answer is longer.
constexpr uint8_t tls_request_bytes = 36;

/// Lets the server greet the client; the server then owns the socket, or has closed it.
bool Connection::is_greeted(ServerSession &server) {
  const int fd = channel.fd();
  auto lent = std::make_unique<net::LentChannel>(fd, nullptr);
  const Greeted greeted = server.greet(fd, local_ ? PeerKind::local : listed.peer_kind(), output);
  if (greeted == Greeted::not_now) return false;
  lent->receive_at_first(tls_request_bytes);
  (void)channel.release().release();
  descriptor.leave_to_server();  // which counts it in max_connections
  borrow(std::move(lent));
  output.release();
  if (greeted == Greeted::refused) die();
  return true;
}

void Connection::borrow(std::unique_ptr<net::Channel> lent) {
  has_tls_ = lent->tls() != nullptr;
  channel = net::AnyChannel(std::move(lent));
}

void Connection::note_served() {
  const ServerSession *const server = hosted();
  if (server == nullptr) return;
  if (server->is_over()) {
    unparsed_ = false;
    return close_when_sent();
  }
  if (!server->logged_in()) return;
  if (input.unparsed_bytes() == 0) unparsed_ = false;
  if (server->number() != listed.id()) listed.note_account(server->account(), server->number());
}

bool Connection::peer_has_ended() const {
  const Phase phase = last_phase();
  return phase == Phase::ended || (phase == Phase::closing && !is_refused_) ||
         channel.presence() != net::Presence::there;
}

void Connection::note_received(const net::Transfer &got) {
  unread_ = got.result == net::Transfer::Result::some && (got.filled || end_told_);
  unparsed_ =
      got.bytes != 0 && (got.result == net::Transfer::Result::some || got.result == net::Transfer::Result::ended);
  switch (got.result) {
    case net::Transfer::Result::some: receive_bytes_ = next_room(receive_bytes(), got); return;
    case net::Transfer::Result::ended: become(Phase::ended); break;
    case net::Transfer::Result::failed: die(); break;
    case net::Transfer::Result::would_block:
    case net::Transfer::Result::no_memory: break;
  }
  if (!unparsed_) input.settle();
}

void Connection::queue_for_handshake() {
  unparsed_ = false;
  if (phase_ != Phase::queued) become(Phase::queued);
}

void Connection::begin_handshake(net::AnyChannel tls) {
  channel = std::move(tls);
  has_tls_ = true;
  input.consume(input.unparsed_bytes());
  input.settle();
  unparsed_ = false;
  become(Phase::handshaking);
}

void Connection::note_collected(Collected collected) {
  unparsed_ = false;
  waits_ = collected == Collected::wait;
  switch (collected) {
    case Collected::need_more: return;
    case Collected::more:
    case Collected::wait: unparsed_ = true; return;
    case Collected::start_tls:
      if (may_start_tls() && phase_ == Phase::open) return become(Phase::leaving_clear);
      return close_when_sent();
    case Collected::sleep:
    case Collected::pause:
      pauses_ = collected == Collected::pause;
      if (phase_ == Phase::open) return become(Phase::asleep);
      return close_when_sent();  // it has ended its sending
    case Collected::close: return close_when_sent();
  }
}

void Connection::forget_unparsed() {
  input.consume(input.unparsed_bytes());
  input.settle();
  unparsed_ = false;
}

void Connection::close_when_sent() {
  if (phase_ != Phase::closing && !is_dead()) become(Phase::closing);
}

void Connection::come_home(bool all_done) {
  if (all_done) input.settle();
  const bool parses = phase_ == Phase::open || phase_ == Phase::ended;
  unparsed_ = parses && (waits_ || input.unparsed_bytes() != 0);
  unread_ = hosted() != nullptr;
  receive_bytes_ = 0;
}

uint32_t Connection::events_wanted() const {
  uint32_t wanted = 0;
  if (is_asleep()) {
    if (output.pending_bytes() != 0) return net::Poller::ended | net::Poller::writable;
    return has_tls_ ? uint32_t{net::Poller::ended} : told_once;
  }
  if (receives() && !has_work()) wanted |= net::Poller::readable;
  if (output.pending_bytes() != 0) wanted |= net::Poller::writable;
  if (output.above_high_water()) wanted &= ~net::Poller::readable;
  if (!has_tls_) return wanted == net::Poller::readable ? told_once : wanted;
  const net::Wishes wishes = channel.wishes();
  if (wishes.writable_to_receive && (wanted & net::Poller::readable)) wanted |= net::Poller::writable;
  if (wishes.readable_to_send) wanted |= net::Poller::readable;
  return wanted;
}

void Connection::note_doing() const {
  const size_t unsent = output.pending_bytes();
  const size_t unparsed = input.unparsed_bytes();
  Doing doing = session_is_open_ ? Doing::idle : Doing::beginning;
  if (phase_ == Phase::closing || phase_ == Phase::dead) doing = Doing::closing;
  else if (unsent != 0) doing = Doing::sending;
  else if (begins_tls()) doing = Doing::shaking_hands;
  else if (is_asleep()) doing = Doing::asleep;
  else if (has_work()) doing = Doing::queued;
  else if (unparsed != 0) doing = Doing::reading;
  listed.note_doing(doing);
  listed.note_buffered(unsent + unparsed);
  listed.note_tls(has_tls_);
}

void Connection::settle_last_phases() {
  if (output.broken()) return die();
  if (has_work()) return;
  if (phase_ == Phase::ended) become(Phase::closing);
  if (phase_ == Phase::closing && output.pending_bytes() == 0) die();
}

}  // namespace postern::door
