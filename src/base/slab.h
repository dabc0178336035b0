// slab.h: Slab, memory for many small objects of one type that live long, such as a door's tens of thousands of
// connections. They lie close together; malloc would add up to 24 bytes to each.
//
// Any thread. Memory goes back when the last object has gone. Under sanitizers each object comes from malloc, so that
// they see uses after free.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "base/free_blocks.h"

namespace postern {

class Slab {
 public:
  explicit constexpr Slab(size_t bytes_each) : bytes_each_(bytes_each) {}

  /// Throws std::bad_alloc. Other sizes, as of a derived type, come from malloc.
  void *take(size_t bytes) {
    if (!is_ours(bytes)) return ::operator new(bytes);
    const std::lock_guard guard(mutex_);
    if (free_ == nullptr && fresh_ == per_block()) add_block();
    ++used_;
    if (free_ != nullptr) return std::exchange(free_, free_->next);
    return reinterpret_cast<char *>(blocks_ + 1) + bytes_each_ * fresh_++;
  }
  /// `bytes`: the size passed to take().
  void give_back(void *object, size_t bytes) noexcept {
    if (!is_ours(bytes)) return ::operator delete(object);
    const std::lock_guard guard(mutex_);
    free_ = new (object) FreeBlock{free_};
    if (--used_ == 0) drop_blocks();
  }

 private:
  struct Block {
    Block *next;
  };
  static constexpr size_t block_bytes = 16'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool has_blocks = false;
#else
  static constexpr bool has_blocks = true;
#endif

  size_t per_block() const {
    return blocks_ == nullptr ? 0 : (block_bytes - sizeof(Block)) / bytes_each_;
  }
  bool is_ours(size_t bytes) const {
    return has_blocks && bytes == bytes_each_;
  }
  void add_block() {
    void *const memory = std::malloc(block_bytes);
    if (memory == nullptr) throw std::bad_alloc();
    blocks_ = new (memory) Block{blocks_};
    fresh_ = 0;
  }
  void drop_blocks() {
    while (blocks_ != nullptr) std::free(std::exchange(blocks_, blocks_->next));
    free_ = nullptr;
    fresh_ = 0;
  }

  const size_t bytes_each_;
  std::mutex mutex_;
  Block *blocks_ = nullptr;  // the newest first
  size_t fresh_ = 0;         // objects of the newest block that were ever handed out
  size_t used_ = 0;
  FreeBlock *free_ = nullptr;
};

/// The slab of one type.
template <class T>
requires(sizeof(T) >= sizeof(FreeBlock) && alignof(T) <= alignof(FreeBlock)) inline constinit Slab slab_of{sizeof(T)};

}  // namespace postern
