#include "base/small_blocks.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace postern::small_blocks {
namespace {

/// Sizes are multiples of this.
constexpr size_t step = 64;
/// Bytes of each size that a thread keeps for itself.
constexpr size_t kept_bytes_per_size = size_t{256} << 10;

/// A free block holds the link to the next one in its own first bytes.
struct Free {
  Free *next;
};

// Trivial on purpose, as the pool's lists are.
struct List {
  Free *head;
  size_t bytes;
};
thread_local List lists[bytes_max / step + 1];

constexpr size_t steps_of(size_t bytes) {
  return bytes == 0 ? 1 : (bytes + step - 1) / step;
}

}  // namespace

void *acquire(size_t bytes) {
  void *block = nullptr;
  if (bytes <= bytes_max) {
    const size_t steps = steps_of(bytes);
    List &list = lists[steps];
    if (Free *const first = list.head) {
      list.head = first->next;
      list.bytes -= steps * step;
      return first;
    }
    block = std::malloc(steps * step);
  } else {
    block = std::malloc(bytes);
  }
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void *block, size_t bytes) noexcept {
  if (block == nullptr) return;
  if (bytes > bytes_max) return std::free(block);
  const size_t steps = steps_of(bytes);
  List &list = lists[steps];
  if (list.bytes + steps * step > kept_bytes_per_size) return std::free(block);
  list.head = new (block) Free{list.head};
  list.bytes += steps * step;
}

void drain() noexcept {
  for (List &list : lists) {
    while (Free *const block = list.head) {
      list.head = block->next;
      std::free(block);
    }
    list.bytes = 0;
  }
}

}  // namespace postern::small_blocks
