// login_session.h: LoginSession, one login as the server sees it.
#pragma once

#include "engine/mariadb/basics/server.h"

#include <memory>
#include <string>

#include "contract/access.h"
#include "engine/engine.h"
#include "engine/mariadb/accounts/proofs.h"
#include "engine/mariadb/basics/failures.h"
#include "engine/sql/packets/handshake.h"

namespace postern::mariadb {

/// A session of its own, on a thread that has another, which is current again afterwards. Its client is `handshake`,
/// whose address and credentials are those of `peer`.
class LoginSession {
 public:
  LoginSession(THD *outer, sql::Handshake &handshake, const Peer &peer);
  ~LoginSession();
  LoginSession(const LoginSession &) = delete;
  LoginSession &operator=(const LoginSession &) = delete;

  THD *thd() const { return thd_; }
  /// As the server sees the connection, which no method of this one looks at.
  static sql::Handshake::Listeners listeners(const Peer &) { return sql::Handshake::Listeners::anybody; }

  /// False with an error in the diagnostics area, or none. `unnamed`: the name for a login that must not get into a
  /// log.
  bool authenticate(const Login &login, engine::LoginNames names, Bytes unnamed);
  /// Reports the end to audit plugins. False: one of them refuses the client, which they cannot.
  bool report();
  /// The account after a successful login; nullptr with `error` if it is good for SQL alone.
  std::shared_ptr<const Account> account(ServerError &error);
  /// CURRENT_USER().
  std::string account_name() const;

 private:
  struct MemoryConnection;
  bool has_account(const std::string &name) const;
  bool take_address(uint &connect_errors);

  THD *const outer_;
  THD *const thd_;
  const Peer &peer_;
  const std::unique_ptr<MemoryConnection> connection_;
};

}  // namespace postern::mariadb
