#include "engine/mariadb/basics/server.h"

#include <arpa/inet.h>

#include "engine/mariadb/accounts/login_session.h"

#include <atomic>
#include <new>
#include <utility>

#include "engine/mariadb/basics/account.h"
#include "engine/mariadb/basics/compat.h"

namespace postern::mariadb {
/// The server's structure for a client's connection.
struct LoginSession::MemoryConnection : st_vio {
  sql::Handshake *const handshake;

  MemoryConnection(sql::Handshake &client, const Peer &peer) : st_vio(), handshake(&client) {
    mysql_socket = MYSQL_INVALID_SOCKET;
    type = VIO_TYPE_TCPIP;
    // Authentication plugins read the peer's credentials from the socket, and the check of an account's TLS
    // requirements uses the TLS session: both belong to the real client.
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

LoginSession::LoginSession(THD *outer, sql::Handshake &handshake, const Peer &peer)
    : outer_(outer),
      thd_(new THD(next_thread_id())),
      peer_(peer),
      connection_(std::make_unique<MemoryConnection>(handshake, peer)) {
  char mark;
  thd_->thread_stack = &mark;
  thd_->store_globals();
  thd_->set_command(COM_CONNECT);
  thd_->set_time();
}

LoginSession::~LoginSession() {
  mysql_audit_release(thd_);
  if (thd_->user_connect != nullptr) decrease_user_connections(std::exchange(thd_->user_connect, nullptr));
  thd_->net.vio = nullptr;  // not the server's to delete
  delete thd_;
  outer_->store_globals();
}

bool LoginSession::authenticate(const Login &login, engine::LoginNames names, Bytes unnamed) {
  if (my_net_init(&thd_->net, connection_.get(), thd_, MYF(MY_THREAD_SPECIFIC))) return false;
  uint connect_errors = 0;
  if (!take_address(connect_errors)) return false;
  if (names == engine::LoginNames::unsure && !has_account(std::string(login.user)))
    connection_->handshake->come_as(unnamed);
  if (acl_authenticate(thd_, 0)) return false;
  if (connect_errors != 0) reset_host_connect_errors(thd_->main_security_ctx.ip);
  return true;
}

/// Whether an account of exactly this name exists for the peer, whatever its password.
bool LoginSession::has_account(const std::string &name) const {
  const Security_context &peer = thd_->main_security_ctx;
  Security_context found;
  return compat::find_account(found, name, peer.host != nullptr ? peer.host : peer.ip, peer.ip) &&
         name == found.priv_user;
}

bool LoginSession::take_address(uint &connect_errors) {
  MemoryConnection &connection = *connection_;
  Security_context &security = thd_->main_security_ctx;
  if (peer_.local()) {
    security.host = my_localhost;
    security.host_or_ip = security.host;
    return true;
  }
  socklen_t size = sizeof connection.remote;
  if (getpeername(peer_.fd(), reinterpret_cast<sockaddr *>(&connection.remote), &size) != 0) return false;
  char ip[INET6_ADDRSTRLEN];
  const bool is_v4 = connection.remote.ss_family == AF_INET;
  const void *const address = is_v4 ? static_cast<void *>(&reinterpret_cast<sockaddr_in &>(connection.remote).sin_addr)
                                    : &reinterpret_cast<sockaddr_in6 &>(connection.remote).sin6_addr;
  if (inet_ntop(connection.remote.ss_family, address, ip, sizeof ip) == nullptr) return false;
  const uint port = ntohs(reinterpret_cast<sockaddr_in &>(connection.remote).sin_port);
  return thd_set_peer_addr(thd_, &connection.remote, ip, port, true, &connect_errors) == 0;
}

bool LoginSession::report() {
  mysql_audit_notify_connection_connect(thd_);
  return true;
}

std::string LoginSession::account_name() const {
  return mariadb::account_name(*thd_->security_ctx);
}

std::shared_ptr<const Account> LoginSession::account(ServerError &error) {
  const Security_context &security = *thd_->security_ctx;
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
  account->connections = std::exchange(thd_->user_connect, nullptr);
  return account;
}

std::string account_name(const Security_context &context) {
  std::string name(context.priv_user);
  name += '@';
  return name += context.priv_host;
}

bool is_account_name(const Security_context &context, Bytes name) {
  const Bytes user(context.priv_user);
  const Bytes host(context.priv_host);
  return name.size() == user.size() + 1 + host.size() && name.starts_with(user) && name[user.size()] == '@' &&
         name.ends_with(host);
}

MariaAccount::~MariaAccount() {
  if (connections != nullptr) decrease_user_connections(connections);
}

}  // namespace postern::mariadb
