// input.h: one connection's received bytes.
//
// Bytes go through three states: received (room, received), parsed (consume) and settled (settle). Views into parsed
// bytes stay valid until settle(), so a batch can be run again without parsing it again. Owned by its connection and
// touched by one thread at a time. Holds no memory while it holds no bytes: it is one pointer to a block of the pool,
// which begins with its places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace postern {

class Input {
 public:
  /// Bytes of each block for its head; the rest is room for input.
  static constexpr size_t head_bytes = 16;

  Input() = default;
  Input(const Input &) = delete;
  Input &operator=(const Input &) = delete;
  ~Input();

  /// Where the next receive may write: at least `bytes_min` bytes, or nothing if there is no memory for them.
  /// Invalidates every view, so it may be called only when everything parsed has been settled.
  [[nodiscard]] std::span<char> room(size_t bytes_min);
  /// The first `bytes` of room() were filled.
  void received(size_t bytes) {
    if (bytes != 0) block_->end += static_cast<uint32_t>(bytes);
  }

  /// Received bytes that are not parsed yet. The parser may change them in place (unescaping).
  std::span<char> unparsed() { return {data() + block_->parsed, block_->end - block_->parsed}; }
  /// The first `bytes` of unparsed() have become ops.
  void consume(size_t bytes) {
    if (bytes == 0) return;
    block_->parsed += static_cast<uint32_t>(bytes);
    block_->scanned = 0;
  }

  /// How many of the unparsed bytes are known to contain no end of a request, so that a request that arrives byte by
  /// byte is not searched from its start each time.
  size_t scanned() const { return block_->scanned; }
  void set_scanned(size_t bytes) {
    if (bytes != block_->scanned) block_->scanned = static_cast<uint32_t>(bytes);
  }

  /// Overwrites a secret among the parsed bytes: the buffer will be reused for other connections.
  void wipe(Bytes parsed);
  /// Drops the parsed bytes: their ops have been answered.
  void settle();

  size_t unparsed_bytes() const { return block_->end - block_->parsed; }
  /// Whether it holds memory now.
  bool holds_block() const { return block_ != &nothing; }

 private:
  /// The head of a block. An input without a block points to one that is never written.
  struct Places {
    uint32_t size = 0;    // bytes after this head
    uint32_t parsed = 0;  // end of the parsed bytes
    uint32_t end = 0;     // end of the received bytes
    uint32_t scanned = 0;
  };
  static_assert(sizeof(Places) == head_bytes);
  static Places nothing;

  char *data() { return reinterpret_cast<char *>(block_ + 1); }
  void release();

  Places *block_ = &nothing;
};

}  // namespace postern
