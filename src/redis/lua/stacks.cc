#include "redis/lua/stacks.h"

#include <array>
#include <cstdint>

#if POSTERN_CHANGES_STACKS

// postern_change_stack(void **from, void *to) pushes the registers that a callee keeps for its caller, leaves the
// pointer of the stack in *from, and pops the same from the stack at `to`. postern_begin_stack is where a new stack
// begins. NOLINTNEXTLINE(hicpp-no-assembler): C++ has no words for it
asm(R"(
  .text
  .p2align 4
  .globl postern_change_stack
  .hidden postern_change_stack
  .type postern_change_stack, @function
postern_change_stack:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
  .size postern_change_stack, . - postern_change_stack

  .p2align 4
  .globl postern_begin_stack
  .hidden postern_begin_stack
  .type postern_begin_stack, @function
postern_begin_stack:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  call *%rbx
  ud2
  .cfi_endproc
  .size postern_begin_stack, . - postern_begin_stack
)");

extern "C" {
[[gnu::visibility("hidden")]] void postern_change_stack(void **from, void *to);
[[gnu::visibility("hidden")]] void postern_begin_stack();
}

namespace postern::redis::lua {

void begin_stack(StackPlace &place, void *stack, size_t bytes, StackBody body, void *argument) {
  // As postern_change_stack leaves it, the first word at the lowest address. The processor's state is a process' first.
  constexpr uint64_t mxcsr = 0x1F80;
  constexpr uint64_t x87_control = 0x037F;
  const std::array<uint64_t, 8> frame{mxcsr | x87_control << 32,
                                      0,
                                      0,
                                      0,
                                      reinterpret_cast<uint64_t>(argument),  // r12
                                      reinterpret_cast<uint64_t>(body),      // rbx
                                      0,                                     // rbp: the first frame
                                      reinterpret_cast<uint64_t>(&postern_begin_stack)};
  // The stack is aligned as for a call once all of that is popped.
  char *const top = static_cast<char *>(stack) + bytes;
  auto *const at = reinterpret_cast<uint64_t *>(top - reinterpret_cast<uintptr_t>(top) % 16) - frame.size();
  for (size_t i = 0; i < frame.size(); ++i) at[i] = frame[i];
  place.pointer = at;
}

void change_stack(StackPlace &from, StackPlace &to) {
  postern_change_stack(&from.pointer, to.pointer);
}

}  // namespace postern::redis::lua

#else

namespace postern::redis::lua {
namespace {

/// makecontext() passes numbers of 32 bits.
void enter(unsigned int body_high, unsigned int body_low, unsigned int argument_high, unsigned int argument_low) {
  const auto whole = [](unsigned int high, unsigned int low) { return (uintptr_t{high} << 32) | low; };
  // NOLINTBEGIN(performance-no-int-to-ptr)
  const auto body = reinterpret_cast<StackBody>(whole(body_high, body_low));
  body(reinterpret_cast<void *>(whole(argument_high, argument_low)));
  // NOLINTEND(performance-no-int-to-ptr)
}

}  // namespace

void begin_stack(StackPlace &place, void *stack, size_t bytes, StackBody body, void *argument) {
  ::getcontext(&place.context);
  place.context.uc_stack.ss_sp = stack;
  place.context.uc_stack.ss_size = bytes;
  place.context.uc_link = nullptr;
  const auto code = reinterpret_cast<uint64_t>(body);
  const auto data = reinterpret_cast<uint64_t>(argument);
  ::makecontext(&place.context, reinterpret_cast<void (*)()>(&enter), 4, static_cast<unsigned int>(code >> 32),
                static_cast<unsigned int>(code), static_cast<unsigned int>(data >> 32),
                static_cast<unsigned int>(data));
}

void change_stack(StackPlace &from, StackPlace &to) {
  ::swapcontext(&from.context, &to.context);
}

}  // namespace postern::redis::lua

#endif
