#include "net/tls_channel.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/limits.h"

namespace postern::net {
namespace {

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

// The BIO between TLS and the socket: OpenSSL's own can neither take bytes back nor receive just once.
const bio_method_st *TlsChannel::wire() {
  struct Free {
    void operator()(BIO_METHOD *method) const { BIO_meth_free(method); }
  };
  static const std::unique_ptr<BIO_METHOD, Free> made = [] {
    // No BIO type of its own: OpenSSL has about a hundred, and never frees one when a library is unloaded.
    std::unique_ptr<BIO_METHOD, Free> method(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "postern"));
    if (method != nullptr) {
      BIO_meth_set_read(method.get(), read_wire);
      BIO_meth_set_write(method.get(), write_wire);
      BIO_meth_set_ctrl(method.get(), control_wire);
    }
    return method;
  }();
  return made.get();
}

TlsChannel::TlsChannel(Fd fd, Ssl ssl, Bytes early) : Channel(std::move(fd)), ssl_(std::move(ssl)), early_(early) {
  BIO *const bio = ssl_ != nullptr && wire() != nullptr ? BIO_new(wire()) : nullptr;
  if (bio == nullptr) {
    ssl_.reset();
    ERR_clear_error();
    return;
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
}

TlsChannel::~TlsChannel() {
  if (ssl_ == nullptr || out_of_order_ || greeting()) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

int TlsChannel::read_wire(bio_st *bio, char *to, int bytes) {
  TlsChannel &self = *static_cast<TlsChannel *>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (bytes <= 0) return 0;
  if (!self.early_.empty()) {
    const size_t count = std::min(self.early_.size(), static_cast<size_t>(bytes));
    std::memcpy(to, self.early_.data(), count);
    self.early_.erase(0, count);
    if (self.early_.empty()) self.early_.shrink_to_fit();
    return static_cast<int>(count);
  }
  if (self.receives_left_ == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  --self.receives_left_;
  const ssize_t got = ::recv(self.fd(), to, static_cast<size_t>(bytes), 0);
  if (got == 0) self.wire_ended_ = true;
  if (got < 0 && would_block()) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

int TlsChannel::write_wire(bio_st *bio, const char *from, int bytes) {
  const TlsChannel &self = *static_cast<TlsChannel *>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t put = ::send(self.fd(), from, static_cast<size_t>(bytes), MSG_NOSIGNAL);
  if (put < 0 && would_block()) BIO_set_retry_write(bio);
  return static_cast<int>(put);
}

long TlsChannel::control_wire(bio_st *bio, int what, long, void *) {
  switch (what) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_EOF: return static_cast<const TlsChannel *>(BIO_get_data(bio))->wire_ended_ ? 1 : 0;
    default: return 0;
  }
}

bool TlsChannel::greeting() const {
  return ssl_ == nullptr || SSL_is_init_finished(ssl_.get()) == 0;
}

bool TlsChannel::resumed() const {
  return SSL_session_reused(ssl_.get()) == 1;
}

Transfer TlsChannel::receive(Input &input, size_t bytes_min) {
  if (ssl_ == nullptr || out_of_order_) return {Transfer::Result::failed, 0};
  ERR_clear_error();
  receives_left_ = 1;
  wishes_.writable_to_receive = false;
  size_t total = 0;
  // Everything that came with one receive is read: nothing would wake us for bytes left inside OpenSSL.
  do {
    const std::span<char> room = input.room(bytes_min);
    if (room.empty()) return {Transfer::Result::no_memory, total};
    size_t got = 0;
    const int returned = SSL_read_ex(ssl_.get(), room.data(), room.size(), &got);
    if (returned != 1) {
      const Transfer::Result result = failure(returned);
      wishes_.writable_to_receive = result == Transfer::Result::would_block && SSL_want_write(ssl_.get());
      if (result == Transfer::Result::would_block && total != 0)
        return {Transfer::Result::some, total, total >= bytes_min};
      return {result, total};
    }
    input.received(got);
    total += got;
  } while (SSL_has_pending(ssl_.get()) == 1);
  return {Transfer::Result::some, total, total >= bytes_min};
}

Transfer TlsChannel::send(Output &output) {
  if (ssl_ == nullptr || out_of_order_) return {Transfer::Result::failed, 0};
  if (greeting()) return {Transfer::Result::would_block, 0};
  ERR_clear_error();
  receives_left_ = 1;
  wishes_.readable_to_send = false;
  size_t total = 0;
  while (!output.sendable().empty() && total < limits::tls_bytes_per_send_max) {
    const Bytes bytes = output.sendable();
    size_t put = 0;
    const int returned = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &put);
    if (returned != 1) {
      if (failure(returned) == Transfer::Result::would_block) {
        wishes_.readable_to_send = SSL_want_read(ssl_.get());
        return {Transfer::Result::would_block, total};
      }
      out_of_order_ = true;  // even if it is reported as the end of the peer's data
      return {Transfer::Result::failed, total};
    }
    output.sent(put);
    total += put;
  }
  return {Transfer::Result::some, total};
}

Transfer::Result TlsChannel::failure(int returned) {
  const int error = SSL_get_error(ssl_.get(), returned);
  ERR_clear_error();
  switch (error) {
    case SSL_ERROR_WANT_WRITE:
    case SSL_ERROR_WANT_READ: return Transfer::Result::would_block;
    case SSL_ERROR_ZERO_RETURN:
      if (!greeting()) return Transfer::Result::ended;
      break;
    default: break;
  }
  out_of_order_ = true;
  return Transfer::Result::failed;
}

}  // namespace postern::net
