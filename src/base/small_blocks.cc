#include "base/small_blocks.h"

#include <array>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/free_blocks.h"

namespace postern::small_blocks {
namespace {

/// Sizes are multiples of this.
constexpr size_t step = 64;
/// Bytes of each size that a thread keeps for itself.
constexpr size_t kept_bytes_per_size = size_t{256} << 10;

/// Blocks that lists exchange at once.
constexpr size_t chain_blocks = 32;

thread_local FreeList lists[bytes_max / step + 1];

template <size_t... steps>
constexpr std::array<Depot, sizeof...(steps)> make_depots(std::index_sequence<steps...>) {
  return {((void)steps, Depot(chain_blocks))...};
}
std::array<Depot, bytes_max / step + 1> depots = make_depots(std::make_index_sequence<bytes_max / step + 1>());

constexpr size_t steps_of(size_t bytes) {
  return bytes == 0 ? 1 : (bytes + step - 1) / step;
}

}  // namespace

void *acquire(size_t bytes) {
  void *block = nullptr;
  if (bytes <= bytes_max) {
    const size_t steps = steps_of(bytes);
    FreeList &list = lists[steps];
    if (void *const first = list.take()) return first;
    if (depots[steps].fill(list)) return list.take();
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
  FreeList &list = lists[steps];
  if ((list.count + 1) * steps * step > kept_bytes_per_size && !depots[steps].relieve(list)) return std::free(block);
  list.add(block);
}

void drain() noexcept {
  for (FreeList &list : lists) list.drain();
  for (Depot &depot : depots) depot.drain();
}

}  // namespace postern::small_blocks
