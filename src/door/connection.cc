#include "door/connection.h"

#include <cassert>

namespace postern::door {

Connection::Connection(std::unique_ptr<net::Channel> its_channel, descriptors::Held its_descriptor, Protocol &protocol,
                       bool is_local, Tls tls)
    : descriptor(std::move(its_descriptor)),
      channel(std::move(its_channel)),
      phase_(tls.offered && protocol.tls_begins() == TlsBegins::with_the_first_byte ? Phase::sniffing : Phase::open),
      local_(is_local),
      tls_(tls) {
  session = protocol.open_session(output, *this);
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
  if (std::exchange(session_is_open_, true)) return;
  session->open();
  output.release();
}

void Connection::begin() {
  if (phase_ == Phase::open) let_session_open();
}

void Connection::note_received(const net::Transfer &got) {
  unread_ = got.result == net::Transfer::Result::some && got.filled;
  unparsed_ =
      got.bytes != 0 && (got.result == net::Transfer::Result::some || got.result == net::Transfer::Result::ended);
  switch (got.result) {
    case net::Transfer::Result::some: return;
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

void Connection::begin_handshake(std::unique_ptr<net::Channel> tls) {
  channel = std::move(tls);
  has_tls_ = true;
  input.consume(input.unparsed_bytes());
  input.settle();
  unparsed_ = false;
  become(Phase::handshaking);
}

void Connection::note_collected(Collected collected) {
  unparsed_ = false;
  switch (collected) {
    case Collected::need_more: return;
    case Collected::more:
    case Collected::wait: unparsed_ = true; return;
    case Collected::start_tls:
      if (may_start_tls() && phase_ == Phase::open) return become(Phase::leaving_clear);
      return close_when_sent();
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
  unparsed_ = parses && input.unparsed_bytes() != 0;
  unread_ = false;
}

void Connection::settle_last_phases() {
  if (output.broken()) return die();
  if (has_work()) return;
  if (phase_ == Phase::ended) become(Phase::closing);
  if (phase_ == Phase::closing && output.pending_bytes() == 0) die();
}

}  // namespace postern::door
