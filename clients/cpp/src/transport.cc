#include "transport.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace handlersocket {
namespace {

Moved failed_or(Moved::How again) {
  if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) return {again};
  return {Moved::How::failed};
}

/// The socket blocks, with a time limit, so that one call can wait and read; all other calls ask not to wait.
class Plain final : public Transport {
 public:
  explicit Plain(Fd fd) : Transport(std::move(fd)) {
    blocks_ = fcntl(this->fd(), F_SETFL, fcntl(this->fd(), F_GETFL) & ~O_NONBLOCK) == 0;
  }

  Moved read(char *into, size_t bytes) override { return receive(into, bytes, MSG_DONTWAIT); }

  Moved read_soon(char *into, size_t bytes, std::chrono::milliseconds patience) override {
    return receive(into, bytes, limited_to(patience) ? 0 : MSG_DONTWAIT);
  }

  Moved write(std::string_view bytes) override {
    const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent >= 0 ? Moved{Moved::How::some, static_cast<size_t>(sent)} : failed_or(Moved::How::want_write);
  }

 private:
  Moved receive(char *into, size_t bytes, int flags) {
    const ssize_t got = ::recv(fd(), into, bytes, flags);
    if (got > 0) return {Moved::How::some, static_cast<size_t>(got)};
    return got == 0 ? Moved{Moved::How::end} : failed_or(Moved::How::want_read);
  }

  /// A zero time means no limit to the kernel.
  bool limited_to(std::chrono::milliseconds patience) {
    if (!blocks_ || patience.count() <= 0) return false;
    if (patience == patience_) return true;
    const auto ms = patience.count();
    const timeval limit{.tv_sec = static_cast<time_t>(ms / 1000),
                        .tv_usec = static_cast<suseconds_t>(ms % 1000 * 1000)};
    if (setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) return false;
    patience_ = patience;
    return true;
  }

  bool blocks_;
  std::chrono::milliseconds patience_{};
};

Error no_connection(const std::string &where, const std::string &why) {
  return {Error::Kind::connect, 0, "cannot connect to " + where + ": " + why};
}

/// An empty text if it is connected.
std::string connect_by(int fd, const sockaddr *address, socklen_t length, Clock::time_point deadline) {
  if (::connect(fd, address, length) == 0) return {};
  if (errno != EINPROGRESS && errno != EINTR) return std::strerror(errno);
  pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return "timed out";
    const int found = ::poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, INT32_MAX)));
    if (found > 0) break;
    if (found < 0 && errno != EINTR) return std::strerror(errno);
  }
  int failure = 0;
  socklen_t size = sizeof failure;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
  return failure == 0 ? std::string() : std::strerror(failure);
}

Result<Fd> connect_unix(const std::string &path, Clock::time_point deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return no_connection(path, "the path is too long");
  path.copy(address.sun_path, path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return no_connection(path, std::strerror(errno));
  const std::string failure = connect_by(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address, deadline);
  if (!failure.empty()) return no_connection(path, failure);
  return fd;
}

Result<Fd> connect_tcp(const std::string &host, uint16_t port, Clock::time_point deadline) {
  const std::string where = host + " port " + std::to_string(port);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); failure != 0)
    return no_connection(where, gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  std::string why = "it has no address";
  for (const addrinfo *address = found; address != nullptr; address = address->ai_next) {
    Fd fd(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, address->ai_protocol));
    if (fd.get() < 0) {
      why = std::strerror(errno);
      continue;
    }
    why = connect_by(fd.get(), address->ai_addr, address->ai_addrlen, deadline);
    if (!why.empty()) continue;
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return fd;
  }
  return no_connection(where, why);
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

bool Transport::wait(bool readable, bool writable, Clock::time_point deadline) const {
  pollfd ready{
      .fd = fd(), .events = static_cast<short>((readable ? POLLIN : 0) | (writable ? POLLOUT : 0)), .revents = 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    const int found = ::poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, INT32_MAX)));
    if (found > 0) return true;
    // The following read or write reports anything else.
    if (found < 0 && errno != EINTR) return true;
  }
}

std::unique_ptr<Transport> make_plain(Fd fd) {
  return std::make_unique<Plain>(std::move(fd));
}

Result<std::unique_ptr<Transport>> open_transport(const Options &options, Clock::time_point deadline) {
  Result<Fd> fd = options.unix_socket.empty() ? connect_tcp(options.host, options.port, deadline)
                                              : connect_unix(options.unix_socket, deadline);
  if (!fd) return fd.error();
  if (!options.tls) return make_plain(std::move(*fd));
  return make_tls(std::move(*fd), *options.tls, options.host, deadline);
}

}  // namespace handlersocket
