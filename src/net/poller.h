// poller.h: Poller, which waits for sockets, and WakeFd, which wakes a waiting thread.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

#include "net/fd.h"

namespace postern::net {

/// epoll. Every descriptor carries a tag that comes back with its events. One thread waits; any thread may add, change
/// and remove.
class Poller {
 public:
  enum : uint32_t {
    readable = EPOLLIN,
    writable = EPOLLOUT,
    ended = EPOLLRDHUP,             ///< the peer will send no more
    hung_up = EPOLLHUP | EPOLLERR,  ///< always watched for
    once = EPOLLONESHOT,            ///< the first event, then nothing until change()
    for_one = EPOLLEXCLUSIVE,       ///< of several waiting pollers one gets the event; never with change()
    once_each = EPOLLET,            ///< reported again only when more comes, or after change()
  };

  Poller();

  /// False, errno set, if the kernel refuses (no memory, too many watches). `events` may be 0: only hung_up comes.
  bool add(int fd, uint32_t events, void *tag);
  bool change(int fd, uint32_t events, void *tag);
  void remove(int fd);

  /// Fills `events` and returns how many; waits at most `timeout_ms`, -1 for ever, 0 not at all.
  size_t wait(std::span<epoll_event> events, int timeout_ms);
  /// The same in microseconds, as exact as the thread's timer slack. Kernels before 5.11 do not wait at all.
  size_t wait_briefly(std::span<epoll_event> events, int64_t timeout_us);

  explicit operator bool() const { return static_cast<bool>(fd_); }
  /// Readable while events are there, so that one poller can watch another.
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

/// An eventfd: wake() from any thread makes it readable until drain(). A poller that watches it with once_each tells of
/// each wake that came since it was last asked, and nobody needs to drain it.
class WakeFd {
 public:
  WakeFd();
  void wake() const;
  void drain() const;
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

}  // namespace postern::net
