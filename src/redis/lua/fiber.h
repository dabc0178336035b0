// fiber.h: Fiber, a C stack for code that stops in the middle of a call and continues later.
//
// Lua 5.1 cannot yield out of pcall(), table.sort() or string.gsub(), where scripts may call commands. On a fiber all
// of Lua stops, with its C frames. The stack has room for all the recursion that Lua allows.
//
// Used by one thread at a time. A body that was resumed on one thread continues only there. Destroying a fiber in the
// middle of its body runs no destructors: objects on its stack must own nothing.
#pragma once

#include <cstddef>
#include <memory>

#include "redis/lua/stacks.h"

namespace postern::redis::lua {

class Fiber {
 public:
  /// Runs on the fiber and never returns: it calls pause() for ever.
  using Body = void (*)(void *argument);

  /// nullptr: no memory for its stack.
  static std::unique_ptr<Fiber> make(Body body, void *argument);
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Runs the body from where it stopped until it pauses.
  void resume();
  /// Called by the body: resume() returns, and the next resume() continues here.
  void pause();
  /// Drops the body's state: the next resume() begins it anew.
  void start_over();

 private:
  Fiber(Body body, void *argument, void *stack) : body_(body), argument_(argument), stack_(stack) {}
  static void enter(void *self);

  const Body body_;
  void *const argument_;
  void *const stack_;
  StackPlace inside_{};
  StackPlace outside_{};
  // For the address sanitizer.
  const void *outside_stack_ = nullptr;
  size_t outside_bytes_ = 0;
};

}  // namespace postern::redis::lua
