// channel.h: one connection's byte stream, whatever carries it.
#pragma once

#include <cstddef>

#include "base/input.h"
#include "base/output.h"

namespace postern::net {

struct Transfer {
  enum class Result : unsigned char {
    some,         ///< `bytes` were moved; there may be more
    would_block,  ///< nothing now
    ended,        ///< the peer will send no more
    failed,       ///< the connection is of no more use
    no_memory,    ///< there is no room to receive into
  };
  Result result = Result::would_block;
  size_t bytes = 0;
};

/// What can be told of the other end without receiving or sending.
enum class Presence : unsigned char {
  there,
  ended,  ///< it sends no more; it may wait for answers, or be gone
  gone,
};

/// Owned by a connection, used by one thread at a time. Never blocks.
class Channel {
 public:
  virtual ~Channel() = default;
  /// One receive, into at least `bytes_min` bytes of room.
  virtual Transfer receive(Input &input, size_t bytes_min) = 0;
  /// One send of what may be sent.
  virtual Transfer send(Output &output) = 0;
  virtual Presence presence() const = 0;
  virtual int fd() const = 0;
  /// The OpenSSL session, an SSL, that carries the stream; nullptr for none.
  virtual void *tls() const { return nullptr; }
};

}  // namespace postern::net
