// input.h: one connection's received bytes.
//
// Bytes go through three states: received (room, received), parsed (consume) and settled (settle). Views into
// parsed bytes stay valid until settle(), which is what lets a batch be run again without parsing it again.
// Owned by its connection and touched by one thread at a time. Holds no memory while it holds no bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace postern {

class Input {
 public:
  Input() = default;
  Input(const Input &) = delete;
  Input &operator=(const Input &) = delete;
  ~Input();

  /// Where the next receive may write: at least `bytes_min` bytes, or nothing if there is no memory for them.
  /// Invalidates every view, so it may be called only when everything parsed has been settled.
  [[nodiscard]] std::span<char> room(size_t bytes_min);
  /// `bytes` of room() were filled.
  void received(size_t bytes) { end_ += bytes; }

  /// Received bytes that are not parsed yet. The parser may change them in place (unescaping).
  std::span<char> unparsed() { return {data_ + parsed_, end_ - parsed_}; }
  /// The first `bytes` of unparsed() have become ops.
  void consume(size_t bytes) {
    parsed_ += bytes;
    scanned_ = 0;
  }

  /// How many of the unparsed bytes are known to hold no end of request, so that a request that arrives byte by
  /// byte is not searched from its start each time.
  size_t scanned() const { return scanned_; }
  void set_scanned(size_t bytes) { scanned_ = bytes; }

  /// Overwrites a view of parsed bytes, a secret: the buffer is others' later.
  void wipe(Bytes parsed);
  /// Drops the parsed bytes: their ops have been answered.
  void settle();

  size_t unparsed_bytes() const { return end_ - parsed_; }

 private:
  char *data_ = nullptr;
  uint32_t size_ = 0;
  uint32_t parsed_ = 0;  // end of the parsed bytes
  uint32_t end_ = 0;     // end of the received bytes
  uint32_t scanned_ = 0;
};

}  // namespace postern
