#include "engine/mysql/server.h"

#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>

#include "engine/mysql/login_session.h"

#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "engine/mysql/account.h"

namespace postern::mysqld {
namespace {

using Hash = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Hash hash_of(Bytes text) {
  Hash hash;
  SHA256(reinterpret_cast<const unsigned char *>(text.data()), text.size(), hash.data());
  return hash;
}

Bytes bytes_of(const Hash &hash) {
  return {reinterpret_cast<const char *>(hash.data()), hash.size()};
}

std::string prove_sha2(Bytes scramble, Bytes password) {
  Hash once = hash_of(password);
  const Hash twice = hash_of(bytes_of(once));
  std::string kept(bytes_of(twice));
  const Hash mixed = hash_of(kept.append(scramble));
  std::string proof;
  for (size_t i = 0; i < once.size(); ++i) proof += static_cast<char>(once[i] ^ mixed[i]);
  explicit_bzero(once.data(), once.size());
  return proof;
}

struct Free {
  void operator()(BIO *bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY *key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX *context) const { EVP_PKEY_CTX_free(context); }
};

std::string seal(Bytes pem, Bytes text) {
  const std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const std::unique_ptr<EVP_PKEY, Free> key(bio != nullptr ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr)
                                                           : nullptr);
  const std::unique_ptr<EVP_PKEY_CTX, Free> context(key != nullptr ? EVP_PKEY_CTX_new(key.get(), nullptr) : nullptr);
  std::string sealed;
  if (context != nullptr && EVP_PKEY_encrypt_init(context.get()) > 0 &&
      EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_OAEP_PADDING) > 0) {
    size_t size = static_cast<size_t>(EVP_PKEY_get_size(key.get()));
    sealed.resize(size);
    if (EVP_PKEY_encrypt(context.get(), reinterpret_cast<unsigned char *>(sealed.data()), &size,
                         reinterpret_cast<const unsigned char *>(text.data()), text.size()) <= 0)
      size = 0;
    sealed.resize(size);
  }
  ERR_clear_error();  // the server checks the same queue
  return sealed;
}

/// The client of the calling thread's current login. The server's structure for a connection has no room for it.
thread_local sql::Handshake *client = nullptr;

// Without memory the connection is lost; the server's functions in between could not be left by an exception.
size_t hear_client(Vio *, uchar *to, size_t size) {
  try {
    return client->say(reinterpret_cast<char *>(to), size);
  } catch (const std::bad_alloc &) {
    return 0;
  }
}
size_t tell_client(Vio *, const uchar *from, size_t size) {
  try {
    client->hear(Bytes(reinterpret_cast<const char *>(from), size));
    return size;
  } catch (const std::bad_alloc &) {
    return VIO_SOCKET_ERROR;
  }
}

/// The server's structure for a client's connection, in memory. Authentication plugins read the peer's credentials from
/// its socket, and the check of an account's TLS requirements uses its session: both belong to the real client.
Vio *make_connection(const Peer &peer) {
  const bool local = peer.local();
  Vio *const vio = vio_new(peer.fd(), local ? VIO_TYPE_SOCKET : VIO_TYPE_TCPIP, local ? VIO_LOCALHOST : 0);
  if (vio == nullptr) return nullptr;
  if (peer.tls() != nullptr) vio->type = VIO_TYPE_SSL;
  vio->ssl_arg = peer.tls();
  vio->vioerrno = [](Vio *) { return 0; };
  vio->read = hear_client;
  vio->write = tell_client;
  vio->timeout = [](Vio *, uint, bool) { return 0; };
  vio->viokeepalive = [](Vio *, bool) { return 0; };
  vio->fastsend = [](Vio *) { return 0; };
  vio->should_retry = [](Vio *) { return false; };
  vio->was_timeout = [](Vio *) { return false; };
  vio->vioshutdown = [](Vio *) { return 0; };
  vio->is_connected = [](Vio *) { return true; };
  vio->has_data = [](Vio *) { return false; };
  vio->io_wait = [](Vio *, enum_vio_io_event, int) { return 1; };
  vio->set_blocking = [](Vio *, bool) { return 0; };
  vio->set_blocking_flag = [](Vio *, bool) { return 0; };
  return vio;
}

std::string text_of(const LEX_CSTRING &text) {
  return text.str != nullptr ? std::string(text.str, text.length) : std::string();
}

}  // namespace

const sql::Proofs proofs{.sha2 = prove_sha2, .seal = seal};

std::string account_name(const Security_context &context) {
  return text_of(context.priv_user()) + '@' + text_of(context.priv_host());
}

MysqlAccount::~MysqlAccount() {
  if (connections != nullptr) decrease_user_connections(const_cast<user_conn *>(connections));
}

LoginSession::LoginSession(THD *outer, sql::Handshake &handshake, const Peer &peer)
    : outer_(outer), thd_(new THD(true)), handshake_(handshake), peer_(peer) {
  char mark;
  thd_->set_new_thread_id();
  thd_->thread_stack = &mark;
  thd_->store_globals();
  thd_->set_command(COM_CONNECT);
  thd_->set_time();
  thd_->init_query_mem_roots();
  lex_start(thd_);
}

/// The connection goes with the rest.
LoginSession::~LoginSession() {
  if (thd_->get_user_connect() != nullptr) release_user_connection(thd_);
  lex_end(thd_->lex);
  thd_->release_resources();
  delete thd_;
  outer_->store_globals();
}

bool LoginSession::authenticate(const Login &login, engine::LoginNames names, Bytes unnamed) {
  vio_ = make_connection(peer_);
  if (vio_ == nullptr || thd_->get_protocol_classic()->init_net(vio_)) return false;
  init_net_server_extension(thd_);
  uint connect_errors = 0;
  if (!take_address(connect_errors) ||
      thd_->get_protocol_classic()->get_output_packet()->alloc(thd_->variables.net_buffer_length))
    return false;
  if (names == engine::LoginNames::unsure && !has_account(std::string(login.user))) handshake_.come_as(unnamed);
  client = &handshake_;
  const bool authentic = acl_authenticate(thd_, COM_CONNECT) == 0;
  client = nullptr;
  if (authentic && connect_errors != 0) reset_host_connect_errors(thd_->security_context()->ip().str);
  return authentic;
}

/// Whether an account of exactly this name exists for the peer, whatever its password.
bool LoginSession::has_account(const std::string &name) const {
  const Security_context &peer = *thd_->security_context();
  Security_context found;
  return !acl_getroot(thd_, &found, name.c_str(), peer.host_or_ip().str, peer.ip().str, "") &&
         name == text_of(found.priv_user());
}

bool LoginSession::take_address(uint &connect_errors) {
  Security_context &security = *thd_->security_context();
  if (peer_.local()) {
    security.set_host_ptr(my_localhost, std::strlen(my_localhost));
    security.set_host_or_ip_ptr(my_localhost, static_cast<int>(std::strlen(my_localhost)));
    security.set_ip_ptr("", 0);
    return true;
  }
  char ip[NI_MAXHOST];
  if (vio_peer_addr(vio_, ip, &thd_->peer_port, sizeof ip)) return false;
  security.assign_ip(ip, std::strlen(ip));
  security.set_host_or_ip_ptr(security.ip().str, static_cast<int>(security.ip().length));
  if ((specialflag & SPECIAL_NO_RESOLVE) == 0) {
    char *host = nullptr;
    const int found = ip_to_hostname(&vio_->remote, security.ip().str, &host, &connect_errors);
    security.assign_host(host, host != nullptr ? std::strlen(host) : 0);
    if (host != nullptr && host != my_localhost) my_free(host);
    if (security.host().length != 0)
      security.set_host_or_ip_ptr(security.host().str, static_cast<int>(security.host().length));
    if (found == RC_LONG_HOSTNAME) my_error(ER_HOSTNAME_TOO_LONG, MYF(0), HOSTNAME_LENGTH);
    if (found == RC_BLOCKED_HOST) my_error(ER_HOST_IS_BLOCKED, MYF(0), security.host_or_ip().str);
    if (found != RC_OK) return false;
  }
  if (!acl_check_host(thd_, security.host().str, security.ip().str)) return true;
  my_error(ER_HOST_NOT_PRIVILEGED, MYF(0), security.host_or_ip().str);
  return false;
}

bool LoginSession::report() {
  return mysql_event_tracking_connection_notify(thd_, AUDIT_EVENT(EVENT_TRACKING_CONNECTION_CONNECT)) == 0;
}

std::shared_ptr<const Account> LoginSession::account(ServerError &error) {
  Security_context &security = *thd_->security_context();
  if (security.is_skip_grants_user()) {
    error.message = "Access denied: the server runs with --skip-grant-tables and cannot verify anybody";
    return nullptr;
  }
  if (security.password_expired() || security.is_in_registration_sandbox_mode()) {
    error = {ER_DEFAULT(ER_MUST_CHANGE_PASSWORD), {ER_MUST_CHANGE_PASSWORD, "HY000"}};
    return nullptr;
  }
  static std::atomic<uint64_t> last_serial{0};
  auto account = std::make_shared<MysqlAccount>();
  account->serial = ++last_serial;
  account->host = text_of(security.host_or_ip());
  account->ip = text_of(security.ip());
  account->name = text_of(security.priv_user());
  account->host_pattern = text_of(security.priv_host());
  for (const auto &[user, host] : *security.get_active_roles())
    account->roles.emplace_back(text_of(user), text_of(host));
  account->connections = thd_->get_user_connect();
  thd_->set_user_connect(nullptr);
  return account;
}

std::string LoginSession::account_name() const {
  return mysqld::account_name(*thd_->security_context());
}

}  // namespace postern::mysqld
