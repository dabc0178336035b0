// TLS by OpenSSL. Its own sockets write without MSG_NOSIGNAL, and a server that goes away would end the program with
// SIGPIPE; so it reads and writes through the functions here.
#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>

#include "transport.h"

namespace handlersocket {
namespace {

template <auto free>
struct Free {
  void operator()(auto *thing) const { free(thing); }
};
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Free<SSL_free>>;

int fd_of(BIO *bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

bool later() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int bio_write(BIO *bio, const char *bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = static_cast<int>(::send(fd_of(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL));
  if (sent < 0 && later()) BIO_set_retry_write(bio);
  return sent;
}

int bio_read(BIO *bio, char *into, int size) {
  BIO_clear_retry_flags(bio);
  const auto got = static_cast<int>(::recv(fd_of(bio), into, static_cast<size_t>(size), 0));
  if (got < 0 && later()) BIO_set_retry_read(bio);
  return got;
}

long bio_control(BIO *, int what, long, void *) {
  return what == BIO_CTRL_FLUSH ? 1 : 0;
}

/// Made once, kept to the program's end.
BIO_METHOD *socket_method() {
  static BIO_METHOD *const method = [] {
    BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    if (made == nullptr) return made;
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

class Encrypted final : public Transport {
 public:
  Encrypted(Fd fd, Context context, Session session)
      : Transport(std::move(fd)), context_(std::move(context)), session_(std::move(session)) {}

  Moved read(char *into, size_t bytes) override {
    ERR_clear_error();
    size_t got = 0;
    const int done = SSL_read_ex(session_.get(), into, bytes, &got);
    return done > 0 ? Moved{Moved::How::some, got} : why(done);
  }

  Moved write(std::string_view bytes) override {
    ERR_clear_error();
    size_t sent = 0;
    const int done = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent);
    return done > 0 ? Moved{Moved::How::some, sent} : why(done);
  }

  Moved shake() {
    ERR_clear_error();
    const int done = SSL_connect(session_.get());
    return done > 0 ? Moved{} : why(done);
  }

  /// Why the handshake failed.
  std::string reason() const {
    const long verdict = SSL_get_verify_result(session_.get());
    if (verdict != X509_V_OK) return X509_verify_cert_error_string(verdict);
    const char *text = ERR_reason_error_string(ERR_peek_error());
    return text == nullptr ? "the server closed the connection" : text;
  }

 private:
  Moved why(int done) const {
    switch (SSL_get_error(session_.get(), done)) {
      case SSL_ERROR_WANT_READ: return {Moved::How::want_read};
      case SSL_ERROR_WANT_WRITE: return {Moved::How::want_write};
      case SSL_ERROR_ZERO_RETURN: return {Moved::How::end};
      default: return {Moved::How::failed};
    }
  }

  Context context_;
  Session session_;
};

Error no_tls(const std::string &why) {
  return {Error::Kind::connect, 0, "TLS: " + why};
}

/// An empty text if all is well.
std::string set_up(SSL_CTX *context, const Tls &tls) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context, tls.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (tls.verify && tls.ca_file.empty()) SSL_CTX_set_default_verify_paths(context);
  if (!tls.ca_file.empty() && SSL_CTX_load_verify_locations(context, tls.ca_file.c_str(), nullptr) != 1)
    return "no certificates can be read from " + tls.ca_file;
  if (!tls.certificate_file.empty() && SSL_CTX_use_certificate_chain_file(context, tls.certificate_file.c_str()) != 1)
    return "no certificate can be read from " + tls.certificate_file;
  if (!tls.key_file.empty() && SSL_CTX_use_PrivateKey_file(context, tls.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return "no key can be read from " + tls.key_file;
  return {};
}

bool is_address(const std::string &name) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 || inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

bool expect_name(SSL *session, const std::string &name) {
  if (is_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str()) == 1;
  return SSL_set1_host(session, name.c_str()) == 1 && SSL_set_tlsext_host_name(session, name.c_str()) == 1;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_tls(Fd fd, const Tls &tls, const std::string &host,
                                            Clock::time_point deadline) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context || socket_method() == nullptr) return no_tls("OpenSSL has no memory");
  if (const std::string failure = set_up(context.get(), tls); !failure.empty()) return no_tls(failure);
  Session session(SSL_new(context.get()));
  BIO *bio = session ? BIO_new(socket_method()) : nullptr;
  if (bio == nullptr) return no_tls("OpenSSL has no memory");
  BIO_set_data(bio, reinterpret_cast<void *>(static_cast<intptr_t>(fd.get())));
  BIO_set_init(bio, 1);
  SSL_set_bio(session.get(), bio, bio);
  const std::string &name = tls.server_name.empty() ? host : tls.server_name;
  if (tls.verify && !expect_name(session.get(), name)) return no_tls("no certificate can have the name " + name);
  auto made = std::make_unique<Encrypted>(std::move(fd), std::move(context), std::move(session));
  while (true) {
    const Moved moved = made->shake();
    if (moved.how == Moved::How::some) return std::unique_ptr<Transport>(std::move(made));
    const bool reads = moved.how == Moved::How::want_read, writes = moved.how == Moved::How::want_write;
    if (!reads && !writes) return no_tls(made->reason());
    if (!made->wait(reads, writes, deadline)) return no_tls("the handshake timed out");
  }
}

}  // namespace handlersocket
