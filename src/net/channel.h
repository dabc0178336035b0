// channel.h: Channel, one connection's byte stream over any transport.
#pragma once

#include <cstddef>

#include <utility>

#include "base/input.h"
#include "base/output.h"
#include "net/fd.h"

namespace postern::net {

struct Transfer {
  enum class Result : unsigned char {
    some,         ///< `bytes` were moved; there may be more
    would_block,  ///< nothing now
    ended,        ///< the peer will send no more; `bytes` came before that
    failed,       ///< the connection is unusable
    no_memory,    ///< there is no room to receive into
  };
  Result result = Result::would_block;
  size_t bytes = 0;
  bool filled = false;  ///< a receive left no room, so that there may be more
};

/// The peer's state, as far as it is known without receiving or sending.
enum class Presence : unsigned char {
  there,
  ended,  ///< it sends no more; it may wait for answers, or be gone
  gone,
};

Presence presence_of(int socket);

/// Events of its descriptor that a channel needs besides those that its owner waits for.
struct Wishes {
  bool writable_to_receive = false;
  bool readable_to_send = false;
};

/// A channel other than a plain socket. Owned by a connection, used by one thread at a time. Never blocks.
class Channel {
 public:
  explicit Channel(Fd fd) : fd_(std::move(fd)) {}
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;
  virtual ~Channel() = default;

  /// One receive, into at least `bytes_min` bytes of room.
  virtual Transfer receive(Input &input, size_t bytes_min) = 0;
  /// Sends as much of the released output as the socket takes at once, up to a bound.
  virtual Transfer send(Output &output) = 0;
  virtual Wishes wishes() const { return {}; }
  /// The OpenSSL session, an SSL, that carries the stream; nullptr for none.
  virtual void *tls() const { return nullptr; }

  int fd() const { return fd_.get(); }
  /// Moves the descriptor out; the channel must not be used afterwards.
  Fd release() { return std::move(fd_); }

 private:
  Fd fd_;
};

}  // namespace postern::net
