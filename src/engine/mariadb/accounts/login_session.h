// login_session.h: LoginSession, one login in the server.
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

/// A temporary session on a thread that has another, which becomes current again afterwards. Its client is `handshake`,
/// with the address and credentials of `peer`.
class LoginSession {
 public:
  LoginSession(THD *outer, sql::Handshake &handshake, const Peer &peer);
  ~LoginSession();
  LoginSession(const LoginSession &) = delete;
  LoginSession &operator=(const LoginSession &) = delete;

  THD *thd() const { return thd_; }
  /// The connection as the server sees it; no authentication method here depends on it.
  static sql::Handshake::Listeners listeners(const Peer &) { return sql::Handshake::Listeners::anybody; }

  /// False with an error in the diagnostics area, or without one. `unnamed`: the name for a login that must not appear
  /// in logs.
  bool authenticate(const Login &login, engine::LoginNames names, Bytes unnamed);
  /// Reports the outcome to audit plugins. Always true, because they cannot refuse a client.
  bool report();
  /// The account after a successful login; nullptr with `error` if it may use only SQL.
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
