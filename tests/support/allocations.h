// allocations.h: what the calling thread has taken from the heap so far. It replaces operator new, so that one source
// of a program includes it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace postern {

inline thread_local uint64_t allocations = 0;
inline thread_local uint64_t allocated_bytes = 0;

}  // namespace postern

void *operator new(size_t size) {
  ++postern::allocations;
  postern::allocated_bytes += size;
  return std::malloc(size);
}
void *operator new[](size_t size) {
  return operator new(size);
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete[](void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, size_t) noexcept {
  std::free(memory);
}
