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
  /// What comes next depends on an op collected now: no byte of it is parsed before settled(). Then collect() is called
  /// again, whether or not there is more input.
  wait,
  /// The client asked for TLS. The ops collected so far are answered in the clear. All bytes after those consumed are
  /// TLS and nothing else, even if they have come already. Only where Peer::may_start_tls(); else the connection
  /// closes.
  start_tls,
  /// The session waits for other clients: no op was collected now, and none is under way. Bytes that its client sends
  /// meanwhile stay unread, and a client that ends its sending is gone. collect() is called again after a wake, at
  /// wake_ms(), or for no reason.
  sleep,
  /// The same, where a client waits for an answer that another client holds up: one that ends its sending stays, and
  /// collect() is called then. Not to be returned again once Peer::sends_no_more().
  pause,
  close,  ///< close the connection once the ops collected so far are answered
};

/// How TLS begins on a connection, where its door has a certificate.
enum class TlsBegins : uint8_t {
  /// A client that wants TLS begins with it. Session::open() waits for that byte, and for the handshake.
  with_the_first_byte,
  /// A connection begins in the clear, until Collected::start_tls. Where TLS is required, a client that asks for more
  /// than answers before that is refused.
  when_asked,
};

/// What became of what others have for a session's client.
enum class Delivered : uint8_t {
  all,    ///< nothing is left of it
  later,  ///< there is more, to be sent when the client has taken some, or when its request is answered
  close,  ///< its client has taken too little for too long: the connection ends at once
};

/// Wakes a session that sleeps, or that is about to: no wake is lost. Its connection's; outlives the session.
class Waker {
 public:
  /// Any thread, while the session lives.
  virtual void wake() noexcept = 0;
  /// Somebody has something for the session's client, whether it sleeps or not: Session::deliver() is called soon. No
  /// call is lost. Any thread, while the session lives.
  virtual void call() noexcept = 0;

 protected:
  ~Waker() = default;
};

/// The protocol state of one connection. Never blocks, never calls the engine. Used by one thread at a time, and
/// destroyed by the worker that it began with.
class Session {
 public:
  virtual ~Session() = default;

  /// Called once, before anything else. A protocol in which the server speaks first writes its greeting here and not in
  /// a constructor; it leaves at once.
  virtual void open() {}
  /// Whether it ever sleeps; always the same.
  virtual bool may_sleep() const { return false; }
  /// Called before open(), if it may: what wakes it.
  virtual void take_waker([[maybe_unused]] Waker &waker) {}

  /// Turns complete requests of `input` into at most `ops_max` ops in `batch`, and consumes them. Everything that
  /// answers is an op, so that replies keep the order of requests. A unit never counts against `ops_max` half-way: one
  /// that has begun is added as a whole.
  virtual Collected collect(Input &input, Batch &batch, uint32_t ops_max) = 0;

  /// Until when it sleeps, on the clock of clock_ms(), if nobody wakes it; INT64_MAX: for ever. Asked after
  /// Collected::sleep and Collected::pause.
  virtual int64_t wake_ms() const { return INT64_MAX; }

  /// The ops collected before have all been answered, and their views are about to die.
  virtual void settled() = 0;

  /// Writes what others have for its client, while its output is below high water: it leaves at once. Called behind
  /// Waker::call(), when no op of its is under way, or left for a later turn, and again where some is left.
  virtual Delivered deliver() { return Delivered::all; }
  /// Whether its client waits for what others have for it: it is not idle then, however long it says nothing.
  virtual bool listens() const { return false; }

  /// The session of the server that this one is about, or nullptr; always the same. If there is one collect() is called
  /// before anything is received, for the server speaks first.
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
