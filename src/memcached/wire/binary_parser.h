// binary_parser.h: BinaryParser, bytes of the binary dialect → requests.
//
// One per connection, touched by the thread that has the connection. Total: any bytes give a request, or the end of the
// connection. Only the header, which has a fixed length, is read before its lengths are compared with their bounds, so
// a client's numbers size nothing.
//
// A packet after which memcached 1.6 cannot continue (lengths that contradict each other or the command) is refused and
// ends the connection. Where 1.6 itself loses its place in the stream (an unknown command with a key, a `touch` or a
// statistic with a value) the packet's length is used and the connection continues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memcached/wire/request.h"

namespace postern::memcached {

class BinaryParser {
 public:
  /// Takes one request off the front of `bytes`, which is everything received and not consumed yet. `consumed`: its
  /// bytes. Views in the request point into `bytes`. `request` is fresh, and unchanged after `nothing`.
  Parsed take(std::span<char> bytes, const Bounds &bounds, size_t &consumed, Request &request);

 private:
  uint32_t swallow_bytes_ = 0;  ///< the rest of the body of a packet that was refused
};

}  // namespace postern::memcached
