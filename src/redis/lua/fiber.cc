#include "redis/lua/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#if defined(__has_feature)
#define POSTERN_HAS_FEATURE(feature) __has_feature(feature)
#else
#define POSTERN_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || POSTERN_HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
namespace {
// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizer's own names
void __sanitizer_start_switch_fiber(void **, const void *, size_t) {}
void __sanitizer_finish_switch_fiber(void *, const void **, size_t *) {}
void __asan_unpoison_memory_region(const void volatile *, size_t) {}
// NOLINTEND(bugprone-reserved-identifier)
}  // namespace
#endif
#undef POSTERN_HAS_FEATURE

namespace postern::redis::lua {
namespace {

/// Lua nests at most 200 calls of C functions, each with a buffer of 8 KiB on the stack. Pages that are never touched
/// take no memory.
constexpr size_t stack_bytes = size_t{4} << 20;
constexpr size_t guard_bytes = size_t{64} << 10;

}  // namespace

std::unique_ptr<Fiber> Fiber::make(Body body, void *argument) {
  void *const stack = ::mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return nullptr;
  std::unique_ptr<Fiber> fiber;
  if (::mprotect(stack, guard_bytes, PROT_NONE) == 0) fiber.reset(new (std::nothrow) Fiber(body, argument, stack));
  if (fiber == nullptr) ::munmap(stack, guard_bytes + stack_bytes);
  else fiber->start_over();
  return fiber;
}

Fiber::~Fiber() {
  // As in restart: the sanitizer would keep these addresses poisoned for the next mapping.
  __asan_unpoison_memory_region(static_cast<char *>(stack_) + guard_bytes, stack_bytes);
  ::munmap(stack_, guard_bytes + stack_bytes);
}

void Fiber::start_over() {
  char *const stack = static_cast<char *>(stack_) + guard_bytes;
  // Functions that ran when the fiber was left have not returned; Lua will reuse their stack frames.
  __asan_unpoison_memory_region(stack, stack_bytes);
  begin_stack(inside_, stack, stack_bytes, enter, this);
}

void Fiber::enter(void *self) {
  auto &fiber = *static_cast<Fiber *>(self);
  __sanitizer_finish_switch_fiber(nullptr, &fiber.outside_stack_, &fiber.outside_bytes_);
  fiber.body_(fiber.argument_);
}

void Fiber::resume() {
  void *fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, static_cast<char *>(stack_) + guard_bytes, stack_bytes);
  change_stack(outside_, inside_);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

void Fiber::pause() {
  void *fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, outside_stack_, outside_bytes_);
  change_stack(inside_, outside_);
  __sanitizer_finish_switch_fiber(fake_stack, &outside_stack_, &outside_bytes_);
}

}  // namespace postern::redis::lua
