// page_allocator.h: PageAllocator, for vectors with room for much more than they mostly hold, as room for all
// connections of a worker: the kernel gives memory for pages of it that something has been written to, and for no
// others.
//
// malloc gives such vectors, as they grow, what others have used before: memory that the process keeps although nothing
// is in it. Any thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <limits>
#include <new>

namespace postern {

template <class T>
class PageAllocator {
 public:
  using value_type = T;
  /// From so many bytes on it is pages; less is malloc's.
  static constexpr size_t bytes_min = 16 * 1024;

  PageAllocator() = default;
  template <class Other>
  PageAllocator(const PageAllocator<Other> &) {}

  /// Throws std::bad_alloc.
  T *allocate(size_t count) {
    if (count > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = count * sizeof(T);
    if (bytes < bytes_min) return static_cast<T *>(::operator new(bytes));
    void *const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T *>(pages);
  }
  void deallocate(T *memory, size_t count) noexcept {
    const size_t bytes = count * sizeof(T);
    if (bytes < bytes_min) ::operator delete(memory);
    else munmap(memory, bytes);
  }
  friend bool operator==(const PageAllocator &, const PageAllocator &) { return true; }
};

}  // namespace postern
