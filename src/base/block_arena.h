// block_arena.h: BlockArena, bump allocation in blocks of the pool, for data that one owner keeps as long as a client
// likes.
//
// Its blocks grow with its contents: a small arena costs little, and a large one uses large blocks with mappings of
// their own, which go back to the system when it dies. Memory from malloc() would stay with the process as long as
// anything after it is in use. Touched by one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/pool.h"

namespace postern {

class BlockArena {
 public:
  BlockArena() = default;
  BlockArena(const BlockArena &) = delete;
  BlockArena &operator=(const BlockArena &) = delete;
  ~BlockArena() {
    for (const pool::Block block : blocks_) pool::release(block);
  }

  /// A copy; empty if there is no memory for it.
  Bytes copy(Bytes bytes) {
    if (bytes.empty()) return {};
    char *const to = take(bytes.size(), 1);
    if (to == nullptr) return {};
    std::memcpy(to, bytes.data(), bytes.size());
    return {to, bytes.size()};
  }
  /// `count` value-initialised objects; none if there is no memory for them.
  template <class T>
  std::span<T> array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    if (count == 0) return {};
    char *const room = take(count * sizeof(T), alignof(T));
    if (room == nullptr) return {};
    T *const first = reinterpret_cast<T *>(room);
    for (size_t i = 0; i < count; ++i) new (first + i) T{};
    return {first, count};
  }

  /// Bytes handed out.
  size_t used() const { return used_; }

 private:
  /// The largest block; only pages that are written to take memory.
  static constexpr size_t block_bytes_most = size_t{256} << 10;

  char *take(size_t size, size_t alignment) {
    const size_t padding = -reinterpret_cast<uintptr_t>(next_) & (alignment - 1);
    if (static_cast<size_t>(end_ - next_) < size + padding) return take_anew(size);
    char *const at = next_ + padding;
    next_ = at + size;
    used_ += size;
    return at;
  }
  char *take_anew(size_t size) {
    const size_t last = blocks_.empty() ? 0 : blocks_.back().size;
    blocks_.reserve(blocks_.size() + 1);
    const pool::Block block = pool::acquire(std::max(size, std::min(2 * last, block_bytes_most)));
    if (block.data == nullptr) return nullptr;
    blocks_.push_back(block);
    next_ = block.data + size;
    end_ = block.data + block.size;
    used_ += size;
    return block.data;
  }

  std::vector<pool::Block> blocks_;
  char *next_ = nullptr;
  char *end_ = nullptr;
  size_t used_ = 0;
};

}  // namespace postern
