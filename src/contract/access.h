// access.h: the identity of a session: Peer, the client's end of the connection, and Identity, its account.
//
// Protocols parse a login into an op, the engine verifies it and notes the account; every later op of the session
// points to the session's identity, and the engine checks the account's rights. Nothing else looks into an account.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"

namespace postern {

/// The client's end of a session's connection. Outlives the session; asked by the thread that has the session. This
/// base class is no client at all, for tests.
class Peer {
 public:
  virtual ~Peer() = default;

  /// Whether it came through a unix socket.
  virtual bool local() const { return false; }
  /// The connection's socket, for its addresses and credentials alone; -1: none.
  virtual int fd() const { return -1; }
  /// The OpenSSL session, an SSL, that carries the connection now; nullptr: none. A client may begin in the clear.
  virtual void *tls() const { return nullptr; }
  /// Whether TLS may begin: the door has a certificate, and the stream is still in the clear.
  virtual bool may_start_tls() const { return false; }
  /// Whether the client has shut down its sending side. It may still read.
  virtual bool sends_no_more() const { return false; }

  // The connection's rows in the process list and in INFORMATION_SCHEMA.

  /// The account that the server has authenticated, user@host; empty: none. May throw std::bad_alloc.
  virtual void note_account(std::string account) const { (void)account; }  // NOLINT(performance-*): heirs keep it
  /// How many indexes the session has open now.
  virtual void note_open_indexes(uint32_t count) const { (void)count; }
};

/// An account that was verified. Made by an engine; immutable and shared by any threads.
class Account {
 public:
  virtual ~Account() = default;
};

/// Owned by a session and pointed to by its ops. A login op changes it, in order with the session's other ops.
struct Identity {
  const Peer &peer;
  std::shared_ptr<const Account> account{};  ///< nullptr: nobody yet, or the last login failed
};

/// A client's credentials. Views into its input; the password is overwritten after the login.
struct Login {
  Bytes user;
  Bytes password;
};

}  // namespace postern
