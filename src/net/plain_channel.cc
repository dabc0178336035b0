#include "net/plain_channel.h"

#include <sys/socket.h>

#include <cerrno>

namespace postern::net {
namespace {

Transfer failure() {
  const bool again = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return {again ? Transfer::Result::would_block : Transfer::Result::failed, 0};
}

}  // namespace

Transfer receive_plain(int socket, Input &input, size_t bytes_min) {
  const std::span<char> room = input.room(bytes_min);
  if (room.empty()) return {Transfer::Result::no_memory, 0};
  const ssize_t got = ::recv(socket, room.data(), room.size(), 0);
  if (got < 0) return failure();
  if (got == 0) return {Transfer::Result::ended, 0};
  const auto bytes = static_cast<size_t>(got);
  input.received(bytes);
  return {Transfer::Result::some, bytes, bytes == room.size()};
}

Transfer send_plain(int socket, Output &output) {
  const Bytes bytes = output.sendable();
  if (bytes.empty()) return {Transfer::Result::some, 0};
  const ssize_t put = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (put < 0) return failure();
  output.sent(static_cast<size_t>(put));
  return {Transfer::Result::some, static_cast<size_t>(put)};
}

}  // namespace postern::net
