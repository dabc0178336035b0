#include "engine/server/server.h"

#include "engine/runs/login.h"

#include "base/limits.h"
#include "engine/server/login_session.h"

namespace postern::rows {
namespace {

/// The name for a login that must not get into a log. The server treats it like any unknown name: in its time, counters
/// and logs.
constexpr Bytes unnamed = "(no account of this name)";
static_assert(unnamed.size() <= USERNAME_LENGTH);

}  // namespace

LoginOutcome log_in(THD *thd, const Login &login, const Peer &peer, engine::LoginNames names) {
  // In the protocol a name ends at its first NUL, so that one with a NUL would become another.
  if (login.user.size() > USERNAME_LENGTH || login.user.find('\0') != Bytes::npos ||
      login.password.size() > limits::password_bytes_max || peer.fd() < 0)
    return {};
  sql::Handshake handshake(login.user, login.password, proofs, LoginSession::listeners(peer));
  LoginSession session(thd, handshake, peer);
  LoginOutcome outcome;
  bool authentic = session.authenticate(login, names, unnamed);
  authentic = session.report() && authentic;
  if (authentic) outcome.account = session.account(outcome.error);
  if (outcome.account != nullptr) outcome.name = session.account_name();
  else if (outcome.error.message.empty()) outcome.error = take_server_error(session.thd());
  // The client gets the same answer as for an existing account.
  std::string &message = outcome.error.message;
  if (const size_t at = message.find(unnamed); at != std::string::npos) message.replace(at, unnamed.size(), login.user);
  return outcome;
}

}  // namespace postern::rows
