#include "net/lent_channel.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/limits.h"

namespace postern::net {
namespace {

Transfer lent_failure() {
  const bool again = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return {again ? Transfer::Result::would_block : Transfer::Result::failed, 0};
}

Transfer::Result tls_failure(ssl_st *ssl, int returned) {
  const int error = SSL_get_error(ssl, returned);
  const bool ended = error == SSL_ERROR_ZERO_RETURN ||
                     (error == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return Transfer::Result::would_block;
  return ended ? Transfer::Result::ended : Transfer::Result::failed;
}

}  // namespace

Transfer LentChannel::receive(Input &input, size_t bytes_min) {
  if (ssl_ != nullptr) return receive_tls(input, bytes_min);
  const std::span<char> room = input.room(bytes_min);
  if (room.empty()) return {Transfer::Result::no_memory, 0};
  const size_t size = at_first_ != 0 ? std::min<size_t>(at_first_, room.size()) : room.size();
  const ssize_t got = ::recv(fd(), room.data(), size, MSG_DONTWAIT);
  if (got < 0) return lent_failure();
  if (got == 0) return {Transfer::Result::ended, 0};
  const auto bytes = static_cast<size_t>(got);
  if (at_first_ != 0) at_first_ = static_cast<uint8_t>(at_first_ - bytes);
  input.received(bytes);
  return {Transfer::Result::some, bytes, bytes == size};
}

Transfer LentChannel::send(Output &output) {
  if (ssl_ != nullptr) return send_tls(output);
  const Bytes bytes = output.sendable();
  if (bytes.empty()) return {Transfer::Result::some, 0};
  const ssize_t put = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (put < 0) return lent_failure();
  output.sent(static_cast<size_t>(put));
  return {Transfer::Result::some, static_cast<size_t>(put)};
}

/// Its owner reads many records at a time, as OpenSSL does by default; nothing wakes a reader for bytes left inside.
Transfer LentChannel::receive_tls(Input &input, size_t bytes_min) {
  ERR_clear_error();
  wishes_.writable_to_receive = false;
  size_t total = 0;
  do {
    const std::span<char> room = input.room(bytes_min);
    if (room.empty()) return {Transfer::Result::no_memory, total};
    size_t got = 0;
    const int returned = SSL_read_ex(ssl_, room.data(), room.size(), &got);
    if (returned != 1) {
      const Transfer::Result result = tls_failure(ssl_, returned);
      wishes_.writable_to_receive = result == Transfer::Result::would_block && SSL_want_write(ssl_);
      if (result == Transfer::Result::would_block && total != 0)
        return {Transfer::Result::some, total, total >= bytes_min};
      return {result, total};
    }
    input.received(got);
    total += got;
  } while (SSL_has_pending(ssl_) == 1);
  return {Transfer::Result::some, total, total >= bytes_min};
}

Transfer LentChannel::send_tls(Output &output) {
  ERR_clear_error();
  wishes_.readable_to_send = false;
  size_t total = 0;
  while (!output.sendable().empty() && total < limits::tls_bytes_per_send_max) {
    const Bytes bytes = output.sendable();
    size_t put = 0;
    const int returned = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &put);
    if (returned != 1) {
      const bool waits = tls_failure(ssl_, returned) == Transfer::Result::would_block;
      wishes_.readable_to_send = waits && SSL_want_read(ssl_);
      return {waits ? Transfer::Result::would_block : Transfer::Result::failed, total};
    }
    output.sent(put);
    total += put;
  }
  return {Transfer::Result::some, total};
}

}  // namespace postern::net
