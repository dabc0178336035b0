// login.h: verifies an account by the server's own authentication.
//
// It calls the server's function for a new client connection with a connection in memory instead of a socket, and plays
// the client at its other end. So every plugin, host pattern, lock, expiry, limit and TLS requirement applies as for
// SQL, with the real peer's address and credentials, and the server's logs and audit plugins see the login. No
// connection to the server is made, so no client can be taken for this process.
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
  ServerError error;                       ///< then the server's error, or empty
  std::string name{};                      ///< the account's
};

/// Defined by each server's engine. Called on the thread of `thd`, between two statements. May wait for a name server,
/// or for an authentication plugin.
LoginOutcome log_in(THD *thd, const Login &login, const Peer &peer, engine::LoginNames names);

}  // namespace postern::rows
