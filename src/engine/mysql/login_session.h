// login_session.h: LoginSession, one login in the server.
#pragma once

#include "engine/mysql/server.h"

#include <memory>
#include <string>

#include "contract/access.h"
#include "engine/engine.h"
#include "engine/mysql/failures.h"
#include "engine/sql/packets/handshake.h"

namespace postern::mysqld {

/// A client's proofs of its password. May be called on any thread.
extern const sql::Proofs proofs;

/// A temporary session on a thread that has another, which becomes current again afterwards. Its client is `handshake`,
/// with the address and credentials of `peer`.
class LoginSession {
 public:
  LoginSession(THD *outer, sql::Handshake &handshake, const Peer &peer);
  ~LoginSession();
  LoginSession(const LoginSession &) = delete;
  LoginSession &operator=(const LoginSession &) = delete;

  THD *thd() const { return thd_; }
  /// The connection as the server sees it.
  static sql::Handshake::Listeners listeners(const Peer &peer) {
    if (peer.tls() != nullptr) return sql::Handshake::Listeners::nobody_tls;
    return peer.local() ? sql::Handshake::Listeners::nobody_local : sql::Handshake::Listeners::anybody;
  }

  /// False with an error in the diagnostics area, or without one. `unnamed`: the name for a login that must not appear
  /// in logs.
  bool authenticate(const Login &login, engine::LoginNames names, Bytes unnamed);
  /// Reports the outcome to audit plugins and components. False: one of them refuses the client.
  bool report();
  /// The account after a successful login; nullptr with `error` if it may use only SQL.
  std::shared_ptr<const Account> account(ServerError &error);
  /// CURRENT_USER().
  std::string account_name() const;

 private:
  bool has_account(const std::string &name) const;
  bool take_address(uint &connect_errors);

  THD *const outer_;
  THD *const thd_;
  sql::Handshake &handshake_;
  const Peer &peer_;
  Vio *vio_ = nullptr;
};

}  // namespace postern::mysqld
