#include "engine/mariadb/basics/server.h"

#include <arpa/inet.h>

#include "engine/mariadb/accounts/login.h"

#include <atomic>
#include <new>

#include "base/limits.h"
#include "engine/mariadb/basics/account.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/failures.h"
#include "engine/mariadb/accounts/proofs.h"

namespace postern::mariadb {
namespace {

/// The name for a login that must not get into a log. The server takes as long over it as over any unknown one, and
/// counts and logs it as any.
constexpr Bytes unnamed = "(no account of this name)";
static_assert(unnamed.size() <= USERNAME_LENGTH);

/// The server's structure for a client's connection.
struct MemoryConnection : st_vio {
  sql::Handshake *const handshake;

  MemoryConnection(sql::Handshake &client, const Peer &peer) : st_vio(), handshake(&client) {
    mysql_socket = MYSQL_INVALID_SOCKET;
    type = VIO_TYPE_TCPIP;
    // Authentication plugins ask the socket for the credentials of the process at its other end, and the check of what
    // an account requires of TLS asks the session: both are the true client's.
    if (peer.tls() != nullptr) type = VIO_TYPE_SSL;
    else if (peer.local()) type = VIO_TYPE_SOCKET;
    if (type != VIO_TYPE_TCPIP) mysql_socket.fd = peer.fd();
    ssl_arg = peer.tls();
    localhost = peer.local();
    desc = const_cast<char *>("memory");
    viodelete = [](Vio *) {};
    vioerrno = [](Vio *) { return 0; };
    // Without memory the connection is lost; the server's functions in between could not be left by an exception.
    read = [](Vio *vio, uchar *to, size_t size) -> size_t {
      try {
        return of(vio).say(reinterpret_cast<char *>(to), size);
      } catch (const std::bad_alloc &) {
        return 0;
      }
    };
    write = [](Vio *vio, const uchar *from, size_t size) -> size_t {
      try {
        of(vio).hear(Bytes(reinterpret_cast<const char *>(from), size));
        return size;
      } catch (const std::bad_alloc &) {
        return static_cast<size_t>(-1);
      }
    };
    timeout = [](Vio *, uint, my_bool) { return 0; };
    vioblocking = [](Vio *, my_bool, my_bool *old) {
      *old = 1;
      return 0;
    };
    is_blocking = [](Vio *) -> my_bool { return 1; };
    viokeepalive = [](Vio *, my_bool) { return 0; };
    fastsend = [](Vio *) { return 0; };
    peer_addr = [](Vio *, char *, uint16 *, size_t) -> my_bool { return 1; };
    in_addr = [](Vio *vio, sockaddr_storage *address) { *address = vio->remote; };
    should_retry = [](Vio *) -> my_bool { return 0; };
    was_timeout = [](Vio *) -> my_bool { return 0; };
    vioclose = [](Vio *) { return 0; };
    is_connected = [](Vio *) -> my_bool { return 1; };
    shutdown = [](Vio *, int) { return 0; };
    has_data = [](Vio *) -> my_bool { return 0; };
    io_wait = [](Vio *, enum_vio_io_event, int) { return 1; };
    connect = [](Vio *, sockaddr *, socklen_t, int) -> my_bool { return 1; };
  }

 private:
  static sql::Handshake &of(Vio *vio) { return *static_cast<MemoryConnection *>(vio)->handshake; }
};

/// A session of its own for one login, on a thread that has another, which is current again afterwards.
class LoginSession {
 public:
  explicit LoginSession(THD *outer) : outer_(outer), thd_(new THD(next_thread_id())) {
    char mark;
    thd_->thread_stack = &mark;
    thd_->store_globals();
    thd_->set_command(COM_CONNECT);
    thd_->set_time();
  }
  ~LoginSession() {
    mysql_audit_release(thd_);
    if (thd_->user_connect != nullptr) decrease_user_connections(std::exchange(thd_->user_connect, nullptr));
    thd_->net.vio = nullptr;  // not the server's to delete
    delete thd_;
    outer_->store_globals();
  }
  LoginSession(const LoginSession &) = delete;
  LoginSession &operator=(const LoginSession &) = delete;

  THD *thd() const { return thd_; }

  /// False with an error in the diagnostics area, or none.
  bool authenticate(MemoryConnection &connection, const Login &login, const Peer &peer, engine::LoginNames names) {
    if (my_net_init(&thd_->net, &connection, thd_, MYF(MY_THREAD_SPECIFIC))) return false;
    uint connect_errors = 0;
    if (!take_address(connection, peer, connect_errors)) return false;
    if (names == engine::LoginNames::unsure && !has_account(std::string(login.user)))
      connection.handshake->come_as(unnamed);
    if (acl_authenticate(thd_, 0)) return false;
    if (connect_errors != 0) reset_host_connect_errors(thd_->main_security_ctx.ip);
    return true;
  }

 private:
  /// Whether there is one of just this name for the peer, whatever its password.
  bool has_account(const std::string &name) const {
    const Security_context &peer = thd_->main_security_ctx;
    Security_context found;
    return compat::find_account(found, name, peer.host != nullptr ? peer.host : peer.ip, peer.ip) &&
           name == found.priv_user;
  }

  bool take_address(MemoryConnection &connection, const Peer &peer, uint &connect_errors) {
    Security_context &security = thd_->main_security_ctx;
    if (peer.local()) {
      security.host = my_localhost;
      security.host_or_ip = security.host;
      return true;
    }
    socklen_t size = sizeof connection.remote;
    if (getpeername(peer.fd(), reinterpret_cast<sockaddr *>(&connection.remote), &size) != 0) return false;
    char ip[INET6_ADDRSTRLEN];
    const bool is_v4 = connection.remote.ss_family == AF_INET;
    const void *const address = is_v4
                                    ? static_cast<void *>(&reinterpret_cast<sockaddr_in &>(connection.remote).sin_addr)
                                    : &reinterpret_cast<sockaddr_in6 &>(connection.remote).sin6_addr;
    if (inet_ntop(connection.remote.ss_family, address, ip, sizeof ip) == nullptr) return false;
    const uint port = ntohs(reinterpret_cast<sockaddr_in &>(connection.remote).sin_port);
    return thd_set_peer_addr(thd_, &connection.remote, ip, port, true, &connect_errors) == 0;
  }

  THD *const outer_;
  THD *const thd_;
};

/// An account as the server knows it after a successful login; nullptr with `error` if it is good for SQL alone.
std::shared_ptr<const Account> account_of(THD *thd, ServerError &error) {
  const Security_context &security = *thd->security_ctx;
  if (*security.host_or_ip == '\0') {
    error.message = "Access denied: the server runs with --skip-grant-tables and cannot verify anybody";
    return nullptr;
  }
  if (security.password_expired) {
    error = {ER_DEFAULT(ER_MUST_CHANGE_PASSWORD), {ER_MUST_CHANGE_PASSWORD, "HY000"}};
    return nullptr;
  }
  static std::atomic<uint64_t> last_serial{0};
  auto account = std::make_shared<MariaAccount>();
  account->serial = ++last_serial;
  account->host = security.host != nullptr ? security.host : security.ip;
  if (security.ip != nullptr) account->ip = security.ip;
  account->name = security.priv_user;
  account->host_pattern = security.priv_host;
  account->role = security.priv_role;
  account->connections = std::exchange(thd->user_connect, nullptr);
  return account;
}

}  // namespace

std::string account_name(const Security_context &context) {
  std::string name(context.priv_user);
  name += '@';
  return name += context.priv_host;
}

MariaAccount::~MariaAccount() {
  if (connections != nullptr) decrease_user_connections(connections);
}

LoginOutcome log_in(THD *thd, const Login &login, const Peer &peer, engine::LoginNames names) {
  // In the protocol a name ends at its first NUL, so that one with a NUL would become another.
  if (login.user.size() > USERNAME_LENGTH || login.user.find('\0') != Bytes::npos ||
      login.password.size() > limits::password_bytes_max || peer.fd() < 0)
    return {};
  sql::Handshake handshake(login.user, login.password, proofs);
  MemoryConnection connection(handshake, peer);
  LoginSession session(thd);
  LoginOutcome outcome;
  const bool authentic = session.authenticate(connection, login, peer, names);
  mysql_audit_notify_connection_connect(session.thd());
  if (authentic) outcome.account = account_of(session.thd(), outcome.error);
  if (outcome.account != nullptr) outcome.name = account_name(*session.thd()->security_ctx);
  else outcome.error = take_server_error(session.thd());
  // The client gets the same answer as for an existing account.
  std::string &message = outcome.error.message;
  if (const size_t at = message.find(unnamed); at != std::string::npos) message.replace(at, unnamed.size(), login.user);
  return outcome;
}

}  // namespace postern::mariadb
