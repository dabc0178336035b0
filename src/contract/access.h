// access.h: on whose behalf a session asks: Peer, who is at the other end, and Identity, as which account.
//
// Protocols parse a login into an op, the engine verifies it and notes the account; every later op of the session
// points to the session's identity, and the engine asks what its account may do. Nobody else looks at an account.
#pragma once

#include <memory>

#include "base/bytes.h"

namespace postern {

/// Who is at the other end.
struct Peer {
  bool local = false;  ///< came through a unix socket
  int fd = -1;  ///< the connection's socket, for its addresses and credentials alone; open as long as the session
  /// The connection's OpenSSL session, an SSL, if it has one. Known when a login is run: a client may begin in the
  /// clear.
  void *tls = nullptr;
};

/// An account that was verified. Made by an engine; immutable and shared by any threads.
class Account {
 public:
  virtual ~Account() = default;
};

/// Owned by a session and pointed to by its ops. A login op changes it, in its turn among the session's ops.
struct Identity {
  Peer peer{};
  std::shared_ptr<const Account> account{};  ///< nullptr: nobody yet, or the last login failed
};

/// What a client offers. Views into its input; the password is overwritten when the login has been tried.
struct Login {
  Bytes user;
  Bytes password;
};

}  // namespace postern
