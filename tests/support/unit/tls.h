// tls.h: the other end of a TLS connection for unit tests: TestCertificate, a self-signed certificate in files of its
// own, and TlsPeer, a client over a socket that the test drives step by step.
#pragma once

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace postern::test {

/// The files are removed with the object.
class TestCertificate {
 public:
  explicit TestCertificate(const std::string &subject) : path_("/tmp/postern-tls-XXXXXX") {
    const int fd = ::mkstemp(path_.data());
    EXPECT_GE(fd, 0);
    ::close(fd);
    replace(subject);
  }
  ~TestCertificate() { ::unlink(path_.c_str()); }
  TestCertificate(const TestCertificate &) = delete;
  TestCertificate &operator=(const TestCertificate &) = delete;

  /// The path of one file with key and certificate.
  const std::string &path() const { return path_; }

  void replace(const std::string &subject) const {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
    X509 *const made = certificate.get();
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key.get());
    X509_NAME *const name = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char *>(subject.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(made, name);
    EXPECT_GT(X509_sign(made, key.get(), EVP_sha256()), 0);
    std::FILE *const file = std::fopen(path_.c_str(), "w");
    ASSERT_NE(file, nullptr);
    PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    PEM_write_X509(file, made);
    std::fclose(file);
  }

  void spoil() const {
    std::FILE *const file = std::fopen(path_.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs("-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n", file);
    std::fclose(file);
  }

 private:
  std::string path_;
};

struct PeerOptions {
  int version_min = TLS1_2_VERSION;
  int version_max = TLS1_3_VERSION;
  const char *ciphers = nullptr;
  SSL_SESSION *session = nullptr;
};

/// Blocks or not as its socket does. Certificates are not verified.
class TlsPeer {
 public:
  explicit TlsPeer(int fd, const PeerOptions &options = {})
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free), ssl_(nullptr, SSL_free) {
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_min_proto_version(context_.get(), options.version_min);
    SSL_CTX_set_max_proto_version(context_.get(), options.version_max);
    SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (options.ciphers != nullptr) SSL_CTX_set_cipher_list(context_.get(), options.ciphers);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), fd);
    if (options.session != nullptr) SSL_set_session(ssl_.get(), options.session);
    SSL_set_connect_state(ssl_.get());
  }

  SSL *ssl() const { return ssl_.get(); }
  bool connected() const { return SSL_is_init_finished(ssl_.get()) == 1; }

  /// A step of the handshake: 1 done, 0 must wait, -1 failed.
  int step() {
    ERR_clear_error();
    const int returned = SSL_do_handshake(ssl_.get());
    return returned == 1 ? 1 : waits(returned) ? 0 : -1;
  }
  /// Returns the number of bytes sent.
  size_t send(std::string_view text) {
    ERR_clear_error();
    size_t put = 0;
    SSL_write_ex(ssl_.get(), text.data(), text.size(), &put);
    return put;
  }
  /// Returns at most `bytes` received bytes; empty if there are none, or at the end.
  std::string read(size_t bytes = size_t{1} << 16) {
    ERR_clear_error();
    std::string text(bytes, '\0');
    size_t got = 0;
    const int returned = SSL_read_ex(ssl_.get(), text.data(), bytes, &got);
    if (returned != 1) last_error_ = SSL_get_error(ssl_.get(), returned);
    text.resize(got);
    return text;
  }
  /// Whether the other end sent close_notify.
  bool ended() const { return last_error_ == SSL_ERROR_ZERO_RETURN; }

  std::string server_name() const {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl_.get()), X509_free);
    char name[100] = "";
    if (certificate != nullptr)
      X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name, sizeof name);
    return name;
  }

 private:
  bool waits(int returned) const {
    const int error = SSL_get_error(ssl_.get(), returned);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
  }

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  int last_error_ = SSL_ERROR_NONE;
};

}  // namespace postern::test
