#include "base/pool.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <utility>

#include "base/free_blocks.h"
#include "base/limits.h"
#include "base/small_blocks.h"

namespace postern::pool {
namespace {

constexpr int first_class = std::countr_zero(limits::block_bytes_min);
constexpr int last_recycled_class = std::countr_zero(limits::block_bytes_recycled_max);
constexpr int recycled_classes = last_recycled_class - first_class + 1;
/// Bytes of each size that a thread keeps for itself.
constexpr size_t kept_bytes_per_class = size_t{1} << 20;
/// Bytes of the blocks that lists exchange at once.
constexpr size_t chain_bytes = size_t{64} << 10;

thread_local FreeList lists[recycled_classes];

/// Not inlined: in a library each use of a thread_local calls a function for its address.
[[gnu::noinline]] FreeList &list_of(size_t its) {
  return lists[its];
}

template <size_t... size_class>
constexpr std::array<Depot, sizeof...(size_class)> make_depots(std::index_sequence<size_class...>) {
  return {Depot(chain_bytes >> (size_class + first_class))...};
}
std::array<Depot, recycled_classes> depots = make_depots(std::make_index_sequence<recycled_classes>());
static_assert(chain_bytes >= limits::block_bytes_recycled_max);

std::atomic<size_t> large_bytes_used{0};
std::atomic<size_t> large_bytes_most{0};
std::atomic<size_t> large_bytes_bound{limits::buffer_bytes_max};

bool count_large(size_t bytes) {
  const size_t before = large_bytes_used.fetch_add(bytes, std::memory_order_relaxed);
  const size_t now = before + bytes;
  if (now <= large_bytes_bound.load(std::memory_order_relaxed)) {
    size_t most = large_bytes_most.load(std::memory_order_relaxed);
    while (now > most && !large_bytes_most.compare_exchange_weak(most, now, std::memory_order_relaxed)) continue;
    return true;
  }
  large_bytes_used.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void forget_large(size_t bytes) {
  large_bytes_used.fetch_sub(bytes, std::memory_order_relaxed);
}

// Large blocks have mappings of their own, so that the memory of many clients goes back to the system when they leave.
// A few are kept, so that consecutive large requests and replies map nothing.
constexpr int first_large_class = last_recycled_class + 1;
constexpr int spare_classes = 4;
constexpr size_t spares_per_class = 4;
std::array<std::array<std::atomic<char *>, spares_per_class>, spare_classes> spares;

std::array<std::atomic<char *>, spares_per_class> *spares_of(size_t size) {
  const int its = std::countr_zero(size) - first_large_class;
  return its < spare_classes ? &spares[static_cast<size_t>(its)] : nullptr;
}

Block acquire_large(size_t size) {
  if (!count_large(size)) return {};
  if (auto *const some = spares_of(size)) {
    for (std::atomic<char *> &spare : *some) {
      if (spare.load(std::memory_order_relaxed) == nullptr) continue;
      if (char *const data = spare.exchange(nullptr, std::memory_order_acquire)) return {data, size};
    }
  }
  void *const data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data != MAP_FAILED) return {static_cast<char *>(data), size};
  forget_large(size);
  return {};
}

void release_large(Block block) {
  forget_large(block.size);
  if (auto *const some = spares_of(block.size)) {
    for (std::atomic<char *> &spare : *some) {
      char *none = nullptr;
      if (spare.compare_exchange_strong(none, block.data, std::memory_order_release, std::memory_order_relaxed)) return;
    }
  }
  munmap(block.data, block.size);
}

void drain_spares() {
  for (int its = 0; its < spare_classes; ++its)
    for (std::atomic<char *> &spare : spares[static_cast<size_t>(its)])
      if (char *const data = spare.exchange(nullptr, std::memory_order_acquire))
        munmap(data, size_t{1} << (first_large_class + its));
}

}  // namespace

Block acquire(size_t bytes) {
  if (bytes > limits::block_bytes_max) return {};
  const int size_class = bytes <= limits::block_bytes_min ? first_class : std::bit_width(bytes - 1);
  const size_t size = size_t{1} << size_class;
  if (size_class > last_recycled_class) return acquire_large(size);
  const auto its = static_cast<size_t>(size_class - first_class);
  FreeList &list = list_of(its);
  if (void *const block = list.take()) return {static_cast<char *>(block), size};
  if (depots[its].fill(list)) return {static_cast<char *>(list.take()), size};
  char *const data = static_cast<char *>(std::malloc(size));
  return data != nullptr ? Block{data, size} : Block{};
}

void release(Block block) {
  if (block.data == nullptr || block.size < limits::block_bytes_min) return;
  if (block.size > limits::block_bytes_recycled_max) return release_large(block);
  const auto its = static_cast<size_t>(std::bit_width(block.size) - 1 - first_class);
  FreeList &list = list_of(its);
  if ((list.count + 1) * block.size > kept_bytes_per_class && !depots[its].relieve(list)) return std::free(block.data);
  list.add(block.data);
}

void drain() {
  for (FreeList &list : lists) list.drain();
  for (Depot &depot : depots) depot.drain();
  small_blocks::drain();
  drain_spares();
}

void set_large_bytes_max(size_t bytes) {
  large_bytes_bound.store(bytes, std::memory_order_relaxed);
}
size_t large_bytes() {
  return large_bytes_used.load(std::memory_order_relaxed);
}
size_t large_bytes_peak() {
  return large_bytes_most.load(std::memory_order_relaxed);
}

bool Charge::add(size_t bytes) {
  if (!count_large(bytes)) return false;
  bytes_ += bytes;
  return true;
}

void Charge::subtract(size_t bytes) {
  bytes_ -= bytes;
  if (bytes != 0) forget_large(bytes);
}

Charge::~Charge() {
  subtract(bytes_);
}

}  // namespace postern::pool
