#include "base/input.h"

#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "base/limits.h"
#include "base/pool.h"

namespace postern {

constinit Input::Places Input::nothing;

Input::~Input() {
  release();
}

/// The pool ignores a block of less than its smallest size, as `nothing` is.
void Input::release() {
  static_assert(head_bytes < limits::block_bytes_min);
  Places *const block = std::exchange(block_, &nothing);
  pool::release({reinterpret_cast<char *>(block), head_bytes + block->size});
}

std::span<char> Input::room(size_t bytes_min) {
  if (holds_block()) {
    if (block_->size - block_->end < bytes_min) settle();
    if (block_->size - block_->end >= bytes_min) return {data() + block_->end, block_->size - block_->end};
  }
  const pool::Block block = pool::acquire(head_bytes + block_->end + bytes_min);
  if (block.data == nullptr) return {};
  auto *const grown = new (block.data) Places(*block_);
  grown->size = static_cast<uint32_t>(block.size - head_bytes);
  if (holds_block()) {
    std::memcpy(grown + 1, data(), block_->end);
    release();
  }
  block_ = grown;
  return {data() + block_->end, block_->size - block_->end};
}

void Input::wipe(Bytes parsed) {
  if (parsed.empty()) return;
  assert(parsed.data() >= data() && parsed.data() + parsed.size() <= data() + block_->parsed);
  explicit_bzero(data() + (parsed.data() - data()), parsed.size());
}

void Input::settle() {
  if (block_->parsed == block_->end) return release();
  if (block_->parsed == 0) return;
  std::memmove(data(), data() + block_->parsed, block_->end - block_->parsed);
  block_->end -= block_->parsed;
  block_->parsed = 0;
}

}  // namespace postern
