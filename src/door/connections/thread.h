// thread.h: Thread, a named thread with a stack large enough for a database server's code.
//
// The server stops recursions, as of a deeply nested expression, where its own threads' stack ends (thread_stack), on
// any thread: each of ours has at least as much.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "base/log.h"

namespace postern::door {

/// Must be joined before it dies.
class Thread {
 public:
  using Body = void (*)(void *);

  /// False, errno set, if no thread can be started. `name` is cut to the kernel's 15 bytes.
  bool start(Body body, void *argument, const std::string &name) {
    body_ = body;
    argument_ = argument;
    running_ = create(&Thread::run, this, thread_);
    if (running_) pthread_setname_np(thread_, name.substr(0, 15).c_str());
    return running_;
  }
  /// Starts a thread that names itself; its body ensures that it is joined, by its pthread_self(), or detached. False,
  /// errno set, if none can be started. Does not throw.
  static bool start_loose(Body body, void *argument) {
    auto *const started = new (std::nothrow) Thread();
    if (started == nullptr) return false;
    const auto run_and_forget = [](void *self) -> void * {
      const std::unique_ptr<Thread> owned(static_cast<Thread *>(self));
      return run(owned.get());
    };
    started->body_ = body;
    started->argument_ = argument;
    if (pthread_t made; create(run_and_forget, started, made)) return true;
    delete started;
    return false;
  }
  void join() {
    if (running_) pthread_join(thread_, nullptr);
    running_ = false;
  }
  bool running() const { return running_; }
  /// Threads started from now on have at least that much stack. Any thread.
  static void want_stack(size_t bytes) {
    for (size_t now = stack_bytes_; now < bytes && !stack_bytes_.compare_exchange_weak(now, bytes);) continue;
  }
  /// Whether the calling thread was started here, and so has to return through this code.
  static bool is_caller() { return is_one_; }

 private:
  static bool create(void *(*body)(void *), void *argument, pthread_t &made) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes_);
    errno = pthread_create(&made, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return errno == 0;
  }

  static void *run(void *self) {
    is_one_ = true;
    const Thread &thread = *static_cast<Thread *>(self);
    // A body handles running out of memory itself. An exception that left this function would end the server.
    try {
      thread.body_(thread.argument_);
    } catch (const std::exception &problem) {
      log::error("a thread ended: %s", problem.what());
    }
    return nullptr;
  }

  static inline thread_local bool is_one_ = false;
  static inline std::atomic<size_t> stack_bytes_{size_t{2} << 20};

  pthread_t thread_{};
  Body body_ = nullptr;
  void *argument_ = nullptr;
  bool running_ = false;
};

}  // namespace postern::door
