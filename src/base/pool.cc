#include "base/pool.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>

#include "base/limits.h"

namespace postern::pool {
namespace {

constexpr int first_class = std::countr_zero(limits::block_bytes_min);
constexpr int last_recycled_class = std::countr_zero(limits::block_bytes_recycled_max);
constexpr int recycled_classes = last_recycled_class - first_class + 1;
/// Bytes of each size that a thread keeps for itself.
constexpr size_t kept_bytes_per_class = size_t{1} << 20;

/// A free block holds the link to the next one in its own first bytes.
struct Free {
  Free *next;
};

// Trivial on purpose: a thread_local with a destructor would keep the plugin's library from being unloaded.
struct List {
  Free *head;
  size_t count;
};
thread_local List lists[recycled_classes];

std::atomic<size_t> large_bytes_used{0};
std::atomic<size_t> large_bytes_bound{limits::buffer_bytes_max};

bool count_large(size_t bytes) {
  const size_t before = large_bytes_used.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= large_bytes_bound.load(std::memory_order_relaxed)) return true;
  large_bytes_used.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void forget_large(size_t bytes) {
  large_bytes_used.fetch_sub(bytes, std::memory_order_relaxed);
}

Block acquire_large(size_t size) {
  if (!count_large(size)) return {};
  if (char *const data = static_cast<char *>(std::malloc(size))) return {data, size};
  forget_large(size);
  return {};
}

}  // namespace

Block acquire(size_t bytes) {
  if (bytes > limits::block_bytes_max) return {};
  const int size_class = bytes <= limits::block_bytes_min ? first_class : std::bit_width(bytes - 1);
  const size_t size = size_t{1} << size_class;
  if (size_class > last_recycled_class) return acquire_large(size);
  List &list = lists[size_class - first_class];
  if (Free *const block = list.head) {
    list.head = block->next;
    --list.count;
    return {reinterpret_cast<char *>(block), size};
  }
  char *const data = static_cast<char *>(std::malloc(size));
  return data != nullptr ? Block{data, size} : Block{};
}

void release(Block block) {
  if (block.data == nullptr || block.size < limits::block_bytes_min) return;
  if (block.size > limits::block_bytes_recycled_max) {
    std::free(block.data);
    return forget_large(block.size);
  }
  List &list = lists[std::bit_width(block.size) - 1 - first_class];
  if ((list.count + 1) * block.size > kept_bytes_per_class) return std::free(block.data);
  list.head = new (block.data) Free{list.head};
  ++list.count;
}

void drain() {
  for (List &list : lists) {
    while (Free *const block = list.head) {
      list.head = block->next;
      std::free(block);
    }
    list.count = 0;
  }
}

void set_large_bytes_max(size_t bytes) {
  large_bytes_bound.store(bytes, std::memory_order_relaxed);
}
size_t large_bytes() {
  return large_bytes_used.load(std::memory_order_relaxed);
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
