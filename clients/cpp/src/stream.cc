#include "stream.h"

#include <algorithm>
#include <cstring>

namespace handlersocket {
namespace {

constexpr size_t buffer_bytes = size_t{64} << 10;
/// The minimal room for a receive.
constexpr size_t room_bytes = size_t{16} << 10;

/// A time limit that starts at its first use: a call that never waits never reads the clock.
class Limit {
 public:
  explicit Limit(std::chrono::milliseconds timeout) : timeout_(timeout) {}
  Clock::time_point end() {
    if (!started_) end_ = Clock::now() + timeout_;
    started_ = true;
    return end_;
  }

 private:
  std::chrono::milliseconds timeout_;
  bool started_ = false;
  Clock::time_point end_{};
};

}  // namespace

Error error_of(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::closed: return {kind, 0, "the connection was closed before the reply"};
    case Error::Kind::timeout: return {kind, 0, "the server did not answer in time"};
    case Error::Kind::malformed: return {kind, 0, "what the server sent is no reply to the request"};
    case Error::Kind::too_large: return {kind, 0, "the reply is longer than reply_bytes_max"};
    default: return {kind, 0, {}};
  }
}

void Stream::make_room() {
  if (begin_ == end_) begin_ = scanned_ = end_ = 0;
  if (capacity_ - end_ >= room_bytes) return;
  const size_t held = end_ - begin_;
  if (capacity_ < 2 * held + buffer_bytes) {
    const size_t capacity = std::max(buffer_bytes, 2 * held + buffer_bytes);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (held != 0) std::memcpy(larger.get(), in_.get() + begin_, held);
    in_ = std::move(larger);
    capacity_ = capacity;
  } else {
    std::memmove(in_.get(), in_.get() + begin_, held);
  }
  scanned_ -= begin_;
  begin_ = 0;
  end_ = held;
}

Moved Stream::fill(std::chrono::milliseconds patience) {
  if (ended_) return {Moved::How::end};
  make_room();
  const Moved moved = transport_->read_soon(in_.get() + end_, capacity_ - end_, patience);
  if (moved.how == Moved::How::some) end_ += moved.bytes;
  if (moved.how == Moved::How::end || moved.how == Moved::How::failed) ended_ = true;
  return moved;
}

Result<void> Stream::flush(std::chrono::milliseconds timeout) {
  Limit limit(timeout);
  std::string_view left = out_;
  bool gone = ended_;
  while (!left.empty() && !gone) {
    const Moved moved = transport_->write(left);
    switch (moved.how) {
      case Moved::How::some: left.remove_prefix(moved.bytes); break;
      case Moved::How::want_read:
      case Moved::How::want_write:
        if (!transport_->wait(true, moved.how == Moved::How::want_write, limit.end())) {
          out_.clear();
          return error_of(Error::Kind::timeout);
        }
        fill();
        gone = ended_;
        break;
      case Moved::How::end:
      case Moved::How::failed: gone = true; break;
    }
  }
  out_.clear();
  return {};
}

bool Stream::has_line() {
  if (scanned_ == end_) return false;
  const void *const lf = std::memchr(in_.get() + scanned_, '\n', end_ - scanned_);
  scanned_ = lf == nullptr ? end_ : static_cast<size_t>(static_cast<const char *>(lf) - in_.get());
  return lf != nullptr;
}

Result<std::string_view> Stream::line(std::chrono::milliseconds timeout) {
  Limit limit(timeout);
  for (std::chrono::milliseconds patience = timeout;; patience = {}) {
    const bool whole = has_line();
    const size_t bytes = scanned_ - begin_;
    if (bytes > line_bytes_max_) return error_of(Error::Kind::too_large);
    if (whole) {
      const std::string_view line(in_.get() + begin_, bytes);
      begin_ = ++scanned_;
      return line;
    }
    limit.end();
    const Moved moved = fill(patience);
    if (ended_) return error_of(Error::Kind::closed);
    if (moved.how == Moved::How::some) continue;
    if (!transport_->wait(moved.how == Moved::How::want_read, moved.how == Moved::How::want_write, limit.end()))
      return error_of(Error::Kind::timeout);
  }
}

bool Stream::silent() {
  return !unread() && fill().how != Moved::How::some && !ended_;
}

}  // namespace handlersocket
