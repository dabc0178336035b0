// login.h: verifying an account by the server's own authentication.
//
// The server's function for a new client connection is called with a connection in memory instead of a socket, and a
// few lines play the client at its other end: so every plugin, host pattern, lock, expiry, limit and requirement of TLS
// holds as for SQL, with the true peer's address and credentials, and the server's logs and audit plugins hear of it.
// No connection to the server is made, so nobody can be taken for this process.
#pragma once

#include <memory>
#include <string>

#include "base/failure.h"
#include "contract/access.h"
#include "engine/engine.h"
#include "engine/server/failures.h"

class THD;

namespace postern::rows {

struct LoginOutcome {
  std::shared_ptr<const Account> account;  ///< nullptr: refused
  ServerError error;                       ///< then the server's error, or nothing
  std::string name{};                      ///< the account's
};

/// Each server's engine defines it. On a thread whose THD is `thd`, which must be between two statements. May wait for
/// a name server, or for an authentication plugin.
LoginOutcome log_in(THD *thd, const Login &login, const Peer &peer, engine::LoginNames names);

}  // namespace postern::rows
