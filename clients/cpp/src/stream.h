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

  /// What waits to be sent: requests are appended here.
  std::string &out() { return out_; }
  /// Sends all of it. Meanwhile it takes in the server's bytes, for the server might else not read on. The server's end
  /// is not reported here: its earlier bytes have to be read first.
  Result<void> flush(std::chrono::milliseconds timeout);
  /// The next line without its LF, valid until the next call.
  Result<std::string_view> line(std::chrono::milliseconds timeout);
  /// A line has come whole: line() would not ask the system.
  bool has_line();
  /// Bytes received and not read.
  bool unread() const { return begin_ != end_; }
  /// Nothing has come, and the server has not closed. Takes in what there is, once.
  bool silent();

 private:
  /// Reads once into the buffer, if the socket has something; notes the end.
  Moved fill() { return fill({}); }
  /// The same, but may wait for so long.
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
