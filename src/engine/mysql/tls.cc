#include "engine/mysql/server.h"

#include <bit>

#include "engine/engine.h"

namespace postern::engine {

ServerTls server_tls() {
  ServerTls tls;
  tls.later = mysql_main == nullptr;
  if (tls.later) return tls;
  Lock_and_access_ssl_acceptor_context context(mysql_main);
  using Property = Ssl_acceptor_context_property_type;
  tls.certificate = context.show_property(Property::current_tls_cert);
  tls.key = context.show_property(Property::current_tls_key);
  tls.ca = context.show_property(Property::current_tls_ca);
  tls.ca_path = context.show_property(Property::current_tls_capath);
  tls.crl = context.show_property(Property::current_tls_crl);
  tls.crl_path = context.show_property(Property::current_tls_crlpath);
  tls.ciphers = context.show_property(Property::current_tls_cipher);
  const std::string suites = context.show_property(Property::current_tls_ciphersuites);
  if (!suites.empty()) tls.ciphers += (tls.ciphers.empty() ? "" : ":") + suites;
  const std::string versions = context.show_property(Property::current_tls_version);
  tls.enabled = context.have_ssl();
  tls.version_1_2 = versions.find("TLSv1.2") != std::string::npos;
  tls.version_1_3 = versions.find("TLSv1.3") != std::string::npos;
  return tls;
}

/// ALTER INSTANCE RELOAD TLS makes a new context before it frees the old one, so their addresses differ.
uint64_t server_tls_generation() {
  if (mysql_main == nullptr) return 0;
  Lock_and_access_ssl_acceptor_context context(mysql_main);
  constexpr uint64_t without = 1;
  return context.have_ssl() ? std::rotl(reinterpret_cast<uint64_t>(static_cast<SSL_CTX *>(context)), 32) : without;
}

}  // namespace postern::engine
