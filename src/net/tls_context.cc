#include "net/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/log.h"

namespace postern::net {
namespace {

/// Takes the first error of this thread's queue and empties it, because the server uses the queue as well.
std::string take_error() {
  const unsigned long code = ERR_get_error();
  const char *const reason = ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : code != 0 ? "error " + std::to_string(code) : "no memory";
  ERR_clear_error();
  return text;
}

const char *or_null(const std::string &path) {
  return path.empty() ? nullptr : path.c_str();
}

/// There is no terminal to enter a key's password.
int no_password(char *, int, int, void *) {
  return 0;
}

/// Settings common to all contexts, whatever the files.
void set_what_no_file_says(SSL_CTX *context) {
  // A peer that closes without close_notify counts as a normal end: no request is executed before it is complete.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // An idle connection holds no buffer. An output's bytes move when it grows.
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);  // one receive for a record, not two
  // Sessions are resumed by tickets, which clients keep, not from a cache of ours.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 1);
  static constexpr unsigned char whose[] = "postern";
  SSL_CTX_set_session_id_context(context, whose, sizeof whose - 1);
  SSL_CTX_set_dh_auto(context, 1);
  SSL_CTX_set_default_passwd_cb(context, no_password);
}

}  // namespace

void FreeSsl::operator()(ssl_st *ssl) const {
  SSL_free(ssl);
}

void TlsContext::FreeContext::operator()(ssl_ctx_st *context) const {
  SSL_CTX_free(context);
}

TlsContext::~TlsContext() = default;

TlsContext::Context TlsContext::make(const TlsFiles &files, std::string &error) {
  ERR_clear_error();
  const auto failed = [&](const std::string &what) {
    error = what + ": " + take_error();
    return nullptr;
  };
  if (!files.version_1_2 && !files.version_1_3) {
    error = "neither TLS 1.2 nor TLS 1.3 is allowed";
    return nullptr;
  }
  Context made(SSL_CTX_new(TLS_server_method()));
  SSL_CTX *const context = made.get();
  if (context == nullptr) return failed("a TLS context");

  if (SSL_CTX_set_min_proto_version(context, files.version_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, files.version_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION) != 1)
    return failed("the TLS versions");
  set_what_no_file_says(context);

  if (!files.ciphers.empty()) {
    // The list may have ciphers of TLS 1.3, of TLS 1.2, or of both; each call rejects the other's.
    const bool some_1_3 = SSL_CTX_set_ciphersuites(context, files.ciphers.c_str()) == 1;
    const bool some_1_2 = SSL_CTX_set_cipher_list(context, files.ciphers.c_str()) == 1;
    if (!some_1_2 && !some_1_3) return failed("the ciphers '" + files.ciphers + "'");
    ERR_clear_error();
  }

  const std::string &certificate = files.certificate.empty() ? files.key : files.certificate;
  const std::string &key = files.key.empty() ? files.certificate : files.key;
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
    return failed("the certificate '" + certificate + "'");
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    return failed("the key '" + key + "'");

  if (!files.ca.empty() || !files.ca_path.empty()) {
    if (SSL_CTX_load_verify_locations(context, or_null(files.ca), or_null(files.ca_path)) != 1)
      return failed("the certificate authorities '" + files.ca + "' '" + files.ca_path + "'");
    // As in SQL: a client need not have a certificate, but a wrong one is refused.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE, nullptr);
  }
  if (!files.crl.empty() || !files.crl_path.empty()) {
    X509_STORE *const store = SSL_CTX_get_cert_store(context);
    if (X509_STORE_load_locations(store, or_null(files.crl), or_null(files.crl_path)) != 1 ||
        X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) != 1)
      return failed("the revoked certificates '" + files.crl + "' '" + files.crl_path + "'");
  }
  ERR_clear_error();
  return made;
}

bool TlsContext::load(std::string &error) {
  const std::lock_guard one_at_a_time(refresh_mutex_);
  generation_.store(source_.generation(), std::memory_order_relaxed);
  Context made = make(source_.files(), error);
  if (made == nullptr) return false;
  const std::lock_guard guard(current_mutex_);
  current_.swap(made);
  loaded_.store(true, std::memory_order_relaxed);
  return true;
}

void TlsContext::refresh() {
  const uint64_t wanted = source_.generation();
  const uint64_t known = generation_.load(std::memory_order_relaxed);
  if (wanted == known) return;
  if (known == 0 && loaded()) {
    // The server has read the files again since.
    generation_.store(wanted, std::memory_order_relaxed);
    return;
  }
  std::string error;
  const bool anew = loaded();
  if (load(error)) log::note("TLS: certificates were read%s", anew ? " again" : "");
  else if (!anew) log::warning("TLS is not offered: %s", error.c_str());
  else log::error("TLS: the old certificates stay in use, the new ones cannot be read: %s", error.c_str());
}

Ssl TlsContext::begin() {
  ERR_clear_error();
  const std::lock_guard guard(current_mutex_);
  Ssl ssl(current_ != nullptr ? SSL_new(current_.get()) : nullptr);
  if (ssl != nullptr) SSL_set_accept_state(ssl.get());
  ERR_clear_error();
  return ssl;
}

}  // namespace postern::net
