// binary_parser.h: BinaryParser, bytes of the binary dialect → requests.
//
// One per connection, touched by the thread that has the connection. Total: any bytes give a request, or the end of the
// connection. Nothing but the header, which has a fixed length, is looked at before the lengths in it were compared
// with their bounds, so that a client's numbers size nothing.
//
// What memcached 1.6 cannot go on after (lengths that contradict each other or the command) is refused and ends the
// connection. Where 1.6 itself loses its place in the stream (an unknown command with a key, a `touch` or a statistic
// with a value) the packet's own length is believed and the connection goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memcached/wire/request.h"

namespace postern::memcached {

class BinaryParser {
 public:
  /// Takes one request off the front of `bytes`, which is everything received and not consumed yet. `consumed`: how
  /// many bytes that was. Views in the request point into `bytes`. `request` is fresh, and still is if there is
  /// `nothing`.
  Parsed take(std::span<char> bytes, const Bounds &bounds, size_t &consumed, Request &request);

 private:
  uint32_t swallow_bytes_ = 0;  ///< the rest of the body of a packet that was refused
};

}  // namespace postern::memcached
