// transport.h: bytes to and from a server, plain or in TLS. Only read_soon() and wait() block, for a bounded time. One
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "handlersocket/options.h"
#include "handlersocket/result.h"

namespace handlersocket {

using Clock = std::chrono::steady_clock;

/// A file descriptor that is closed with its owner.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd &operator=(Fd &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }

 private:
  int fd_;
};

/// The result of a read or a write.
struct Moved {
  enum class How { some, end, want_read, want_write, failed };
  How how = How::some;
  size_t bytes = 0;  ///< of some: 1 at least
};

class Transport {
 public:
  explicit Transport(Fd fd) : fd_(std::move(fd)) {}
  virtual ~Transport() = default;
  virtual Moved read(char *into, size_t bytes) = 0;
  virtual Moved write(std::string_view bytes) = 0;
  /// As read(), but may wait for the first bytes, no longer than `patience`: one system call where a read in vain, a
  /// wait and another read would be three.
  virtual Moved read_soon(char *into, size_t bytes, std::chrono::milliseconds) { return read(into, bytes); }
  int fd() const { return fd_.get(); }

  /// Until the socket can be read, written, or one of them. False if that was not so by the deadline.
  bool wait(bool readable, bool writable, Clock::time_point deadline) const;

 private:
  Fd fd_;
};

std::unique_ptr<Transport> make_plain(Fd fd);
/// The handshake is done when it returns.
Result<std::unique_ptr<Transport>> make_tls(Fd fd, const Tls &tls, const std::string &host, Clock::time_point deadline);

/// Connects as the options say, the TLS handshake included.
Result<std::unique_ptr<Transport>> open_transport(const Options &options, Clock::time_point deadline);

}  // namespace handlersocket
