// stream.h: lines to and from a server, with time limits and a bound on a line's length. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "transport.h"

namespace handlersocket {

class Stream {
 public:
  Stream(std::unique_ptr<Transport> transport, size_t line_bytes_max)
      : transport_(std::move(transport)), line_bytes_max_(line_bytes_max) {}

  /// Unsent bytes: requests are appended here.
  std::string &out() { return out_; }
  /// Sends all of it. Meanwhile it receives the server's bytes, because otherwise the server might stop reading. The
  /// end of the stream is not reported here: earlier bytes have to be read first.
  Result<void> flush(std::chrono::milliseconds timeout);
  /// The next line without its LF, valid until the next call.
  Result<std::string_view> line(std::chrono::milliseconds timeout);
  /// Whether a whole line has arrived: line() would make no system call.
  bool has_line();
  /// Bytes received and not read.
  bool unread() const { return begin_ != end_; }
  /// Whether nothing has arrived and the server has not closed. Receives once.
  bool silent();

 private:
  /// Reads once into the buffer, if the socket has something; notes the end.
  Moved fill() { return fill({}); }
  /// The same, but may wait this long.
  Moved fill(std::chrono::milliseconds patience);
  void make_room();

  std::unique_ptr<Transport> transport_;
  size_t line_bytes_max_;
  std::string out_{};
  std::unique_ptr<char[]> in_{};
  size_t capacity_ = 0;
  size_t begin_ = 0;    ///< the unread bytes'
  size_t scanned_ = 0;  ///< no LF before this
  size_t end_ = 0;
  bool ended_ = false;  ///< the server has closed, or the connection failed
};

Error error_of(Error::Kind kind);

}  // namespace handlersocket
