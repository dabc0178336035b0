// fiber.h: Fiber, a C stack of its own for code that stops in the middle of a call and goes on later.
//
// Lua 5.1 cannot yield out of pcall(), table.sort() or string.gsub(), where scripts call commands, too. On a fiber the
// whole of Lua stops, with its C frames. The stack has room for all the recursion that Lua allows.
//
// Used by one thread at a time. A body that was resumed on one thread goes on only there.
// A fiber that is destroyed in the middle of its body runs no destructors of it: objects on its stack must own nothing.
#pragma once

#include <cstddef>
#include <memory>

#include "redis/lua/stacks.h"

namespace postern::redis::lua {

class Fiber {
 public:
  /// Runs on the fiber and never returns: it calls pause() for ever.
  using Body = void (*)(void *argument);

  /// nullptr: there is no memory for its stack.
  static std::unique_ptr<Fiber> make(Body body, void *argument);
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Runs the body, on from where it is, until it pauses.
  void resume();
  /// To be called by the body: resume() returns, and the next one returns here.
  void pause();
  /// Forgets where the body is: the next resume() begins it anew.
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
