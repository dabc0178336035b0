// allocations.h: counts the calling thread's allocations, and makes allocations fail. It replaces operator new, so only
// one source of a program includes it.
//
//   const uint64_t before = allocations;  // of this thread; and allocated_bytes
//
//   const Spared spared;       // this thread is the test
//   fail_allocation(17);       // the 17th from here of all other threads fails, and no other
//   fail_allocations(100, 5);  // about every 100th, by chance
//   fail_allocation(0);        // none
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace postern {

inline thread_local uint64_t allocations = 0;
inline thread_local uint64_t allocated_bytes = 0;

inline thread_local bool allocations_spared = false;
inline std::atomic<int64_t> allocations_until_failure{0};
inline std::atomic<uint32_t> allocations_per_failure{0};
inline std::atomic<uint64_t> allocation_dice{0};
inline std::atomic<uint64_t> allocations_failed{0};

/// While it exists, its thread's allocations do not fail.
class Spared {
 public:
  Spared() { allocations_spared = true; }
  ~Spared() { allocations_spared = false; }
};

inline void fail_allocation(int64_t number) {
  allocations_per_failure = 0;
  allocations_until_failure = number;
}
inline void fail_allocations(uint32_t one_in, uint64_t seed) {
  allocations_until_failure = 0;
  allocation_dice = seed;
  allocations_per_failure = one_in;
}
/// Whether the requested failure has not happened yet.
inline bool failure_is_ahead() {
  return allocations_until_failure > 0;
}

inline bool allocation_fails() {
  if (allocations_spared) return false;
  bool fails =
      allocations_until_failure.load(std::memory_order_relaxed) > 0 && allocations_until_failure.fetch_sub(1) == 1;
  if (const uint32_t one_in = allocations_per_failure.load(std::memory_order_relaxed)) {
    uint64_t mixed = allocation_dice.fetch_add(0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
    mixed ^= mixed >> 31;
    fails = mixed % one_in == 0;
  }
  if (fails) ++allocations_failed;
  return fails;
}

inline void *allocate(size_t size) {
  ++allocations;
  allocated_bytes += size;
  return allocation_fails() ? nullptr : std::malloc(size);
}
inline void *allocate_or_throw(size_t size) {
  void *const memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace postern

// Not inlined: the compiler would warn of free() for memory that it knows to come from operator new.
[[gnu::noinline]] void *operator new(size_t size, const std::nothrow_t &) noexcept {
  return postern::allocate(size);
}
[[gnu::noinline]] void *operator new[](size_t size, const std::nothrow_t &) noexcept {
  return postern::allocate(size);
}
[[gnu::noinline]] void *operator new(size_t size) {
  return postern::allocate_or_throw(size);
}
[[gnu::noinline]] void *operator new[](size_t size) {
  return postern::allocate_or_throw(size);
}
[[gnu::noinline]] void operator delete(void *memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void *memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void *memory, size_t) noexcept {
  std::free(memory);
}
