// small_blocks.h: memory that lives as long as a request and is smaller than the pool's blocks: commands of several
// steps, their coroutines, their lists.
//
// Recycled in lists of the calling thread, as the pool's blocks are, and given back by pool::drain(). Any thread may
// release a block.
#pragma once

#include <cstddef>

namespace postern::small_blocks {

/// Larger blocks come from the C library.
inline constexpr size_t bytes_max = 4'096;

/// Throws std::bad_alloc.
void *acquire(size_t bytes);
/// `bytes`: the size passed to acquire().
void release(void *block, size_t bytes) noexcept;
/// Gives back the free blocks of the calling thread.
void drain() noexcept;

/// An allocator for containers.
template <class T>
struct Allocator {
  using value_type = T;

  Allocator() = default;
  template <class Other>
  explicit(false) Allocator(const Allocator<Other> &) {}  // NOLINT(google-explicit-constructor): containers want it so
  T *allocate(size_t count) { return static_cast<T *>(acquire(count * sizeof(T))); }
  void deallocate(T *first, size_t count) noexcept { release(first, count * sizeof(T)); }
  bool operator==(const Allocator &) const = default;
};

}  // namespace postern::small_blocks
