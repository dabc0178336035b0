#include "engine/mariadb/basics/server.h"

#include <atomic>
#include <bit>

#include "engine/engine.h"

namespace postern::engine {
namespace {

std::string text(const char *value) {
  return value != nullptr ? value : "";
}

}  // namespace

ServerTls server_tls() {
  ServerTls tls;
  tls.certificate = text(opt_ssl_cert);
  tls.key = text(opt_ssl_key);
  tls.ca = text(opt_ssl_ca);
  tls.ca_path = text(opt_ssl_capath);
  tls.crl = text(opt_ssl_crl);
  tls.crl_path = text(opt_ssl_crlpath);
  tls.ciphers = text(opt_ssl_cipher);
  tls.enabled = opt_use_ssl && (!tls.certificate.empty() || !tls.key.empty());
  tls.version_1_2 = (tls_version & VIO_TLSv1_2) != 0;
  tls.version_1_3 = (tls_version & VIO_TLSv1_3) != 0;
  return tls;
}

/// FLUSH SSL makes a new context before it frees the old one, so their addresses differ.
uint64_t server_tls_generation() {
  static std::atomic<uint64_t> last{0};
  // Held by SQL clients for all of their handshake, and waited for by FLUSH SSL: not to be waited for here.
  if (mysql_rwlock_tryrdlock(&LOCK_ssl_refresh) != 0) return last.load(std::memory_order_relaxed);
  uint64_t now = 0;
  if (ssl_acceptor_fd != nullptr) {
    now = std::rotl(reinterpret_cast<uint64_t>(ssl_acceptor_fd), 32) ^
          reinterpret_cast<uint64_t>(ssl_acceptor_fd->ssl_context);
  }
  mysql_rwlock_unlock(&LOCK_ssl_refresh);
  last.store(now, std::memory_order_relaxed);
  return now;
}

}  // namespace postern::engine
