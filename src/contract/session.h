// session.h: a protocol as a worker sees it: Protocol, one per door, and Session, one per connection.
#pragma once

#include <cstdint>
#include <memory>

#include "base/counters.h"
#include "base/input.h"
#include "base/output.h"
#include "contract/access.h"
#include "contract/batch.h"

namespace postern {

class ServerSession;

/// Why a session stopped parsing.
enum class Collected : uint8_t {
  need_more,  ///< no complete request is left in the input
  more,       ///< stopped by `ops_max`; there may be more
  /// Further parsing depends on an op collected now, so it stops until settled(). Then collect() is called again,
  /// whether or not there is more input.
  wait,
  /// The client asked for TLS. The ops collected so far are answered in the clear. All bytes after those consumed are
  /// TLS and nothing else, even if they have come already. Only where Peer::may_start_tls(); else the connection
  /// closes.
  start_tls,
  /// The session waits for other clients: no op was collected now, and none is under way. Bytes that its client sends
  /// meanwhile stay unread, and a client that ends its sending counts as gone. collect() is called again after a wake,
  /// at wake_ms(), or spuriously.
  sleep,
  /// The same while another client holds up this one's answer: the session survives the end of its client's sending,
  /// and collect() is called then. Not to be returned again once Peer::sends_no_more().
  pause,
  close,  ///< close the connection once the ops collected so far are answered
};

/// How TLS begins on a connection of a door with a certificate.
enum class TlsBegins : uint8_t {
  /// A client that wants TLS sends its first byte. Session::open() is called after that byte, or after the handshake.
  with_the_first_byte,
  /// A connection is in the clear until Collected::start_tls. If TLS is required, requests that need the engine are
  /// refused before that.
  when_asked,
};

/// The result of Session::deliver().
enum class Delivered : uint8_t {
  all,    ///< nothing is left of it
  later,  ///< there is more, sent when the client has read some, or when its request is answered
  close,  ///< its client has read too little for too long: the connection ends at once
};

/// Wakes a session that sleeps or is about to: no wake is lost. Owned by the connection; outlives the session.
class Waker {
 public:
  /// Any thread, while the session lives.
  virtual void wake() noexcept = 0;
  /// Has Session::deliver() called soon, whether the session sleeps or not. No call is lost. Any thread, while the
  /// session lives.
  virtual void call() noexcept = 0;

 protected:
  ~Waker() = default;
};

/// The protocol state of one connection. Never blocks, never calls the engine. Used by one thread at a time, and
/// destroyed by the worker that it began with.
class Session {
 public:
  virtual ~Session() = default;

  /// Called once, before anything else. A protocol in which the server speaks first writes its greeting here, not in a
  /// constructor; it is sent at once.
  virtual void open() {}
  /// Whether it ever sleeps; never changes.
  virtual bool may_sleep() const { return false; }
  /// Called before open() if may_sleep(); `waker` wakes the session.
  virtual void take_waker([[maybe_unused]] Waker &waker) {}

  /// Turns complete requests of `input` into at most `ops_max` ops in `batch`, and consumes them. Everything that
  /// answers is an op, so replies keep the order of requests. A unit that has begun is added whole, even beyond
  /// `ops_max`.
  virtual Collected collect(Input &input, Batch &batch, uint32_t ops_max) = 0;

  /// When it wakes by itself, by clock_ms(); INT64_MAX: never. Called after Collected::sleep and Collected::pause.
  virtual int64_t wake_ms() const { return INT64_MAX; }

  /// All ops collected before have been answered, and their views are about to die.
  virtual void settled() = 0;

  /// Writes messages from other sessions to its client, while its output is below high water; they are sent at once.
  /// Called after Waker::call(), when none of its ops is under way or left for a later turn, and again while some
  /// messages are left.
  virtual Delivered deliver() { return Delivered::all; }
  /// Whether its client waits for messages: it is not idle then, however long it is silent.
  virtual bool listens() const { return false; }

  /// The server session that this one serves, or nullptr; never changes. If there is one, collect() is called before
  /// anything is received, because the server speaks first.
  virtual ServerSession *server_session() const { return nullptr; }
};

class Protocol {
 public:
  virtual ~Protocol() = default;

  virtual TlsBegins tls_begins() const { return TlsBegins::with_the_first_byte; }

  /// A session with `output` for its replies. That and `peer` outlive it. Any thread.
  virtual std::unique_ptr<Session> open_session(Output &output, const Peer &peer) = 0;

  /// Writes the message for a client that the door disconnects although no request asked for it. Any thread.
  virtual void refuse(Output &output, Failure why) = 0;
};

}  // namespace postern
