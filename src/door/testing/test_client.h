// test_client.h: the clients in the tests of this folder: Client, a blocking client with a deadline, and waiting for
// the effects of other threads. Each is used by one thread.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "net/fd.h"

namespace postern::door {

inline constexpr int64_t deadline_ms = 20'000;

/// Waits for something that other threads bring about.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate predicate, int64_t within_ms = deadline_ms) {
  for (const int64_t until = clock_ms() + within_ms; clock_ms() < until;) {
    if (predicate()) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return predicate();
}

/// A client with a deadline: its reads fail the test instead of hanging it.
class Client {
 public:
  /// `receive_buffer`: bytes the kernel may hold for it, 0 for the usual.
  explicit Client(const std::string &unix_path, int receive_buffer = 0) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    set_receive_buffer(receive_buffer);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, unix_path.c_str(), sizeof address.sun_path - 1);
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
  }
  explicit Client(uint16_t port, int receive_buffer = 0) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    set_receive_buffer(receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }
  void end_sending() { ::shutdown(fd_.get(), SHUT_WR); }

  /// False if the other end is gone.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t put = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (put <= 0) return false;
      text.remove_prefix(static_cast<size_t>(put));
    }
    return true;
  }
  /// Sends as much as the kernel takes without waiting; returns how much.
  size_t send_without_waiting(std::string_view text) {
    const ssize_t put = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return put > 0 ? static_cast<size_t>(put) : 0;
  }

  /// Up to `bytes`; less if the connection ends or the deadline passes.
  std::string read(size_t bytes, int64_t within_ms = deadline_ms) {
    std::string text(bytes, '\0');
    size_t got = 0;
    const int64_t until = clock_ms() + within_ms;
    while (got < bytes && readable(until)) {
      const ssize_t more = ::recv(fd_.get(), text.data() + got, std::min<size_t>(bytes - got, size_t{1} << 16), 0);
      if (more <= 0) break;
      got += static_cast<size_t>(more);
    }
    text.resize(got);
    return text;
  }
  std::string ask(std::string_view request, size_t answer_bytes) {
    send(request);
    return read(answer_bytes);
  }
  /// Whether the other end closes, having sent nothing more.
  bool closed(int64_t within_ms = deadline_ms) {
    char byte;
    return readable(clock_ms() + within_ms) && ::recv(fd_.get(), &byte, 1, 0) <= 0;
  }

 private:
  void set_receive_buffer(int bytes) {
    if (bytes != 0) setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  bool readable(int64_t until_ms) {
    pollfd wanted{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, static_cast<int>(std::max<int64_t>(until_ms - clock_ms(), 0))) == 1;
  }

  net::Fd fd_;
  bool connected_ = false;
};

}  // namespace postern::door
