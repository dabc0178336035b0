// stacks.h: changes from one C stack to another.
//
//   begin_stack(its_place, stack, stack_bytes, body, argument); change_stack(own_place, its_place); // returns when
//   another stack changes to own_place
//
// The body never returns. A stack that was left on one thread continues only there.
#pragma once

#include <cstddef>

// swapcontext() makes a system call for the signal mask, four times for each command of a script. With shadow stacks
// these would have to be switched, too.
#if defined(__x86_64__) && !(defined(__CET__) && (__CET__ & 2))
#define POSTERN_CHANGES_STACKS 1
#else
#define POSTERN_CHANGES_STACKS 0
#include <ucontext.h>
#endif

namespace postern::redis::lua {

/// The saved state of a stack.
struct StackPlace {
#if POSTERN_CHANGES_STACKS
  void *pointer = nullptr;
#else
  ucontext_t context{};
#endif
};

using StackBody = void (*)(void *argument);

void begin_stack(StackPlace &place, void *stack, size_t bytes, StackBody body, void *argument);
void change_stack(StackPlace &from, StackPlace &to);

}  // namespace postern::redis::lua
