// thread.h: a thread with a stack large enough for a database server's code, and a name.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <exception>
#include <string>

#include "base/log.h"

namespace postern::door {

/// Must be joined before it dies.
class Thread {
 public:
  using Body = void (*)(void *);

  /// False, errno set, if the system has no thread to give. `name` is cut to the kernel's 15 bytes.
  bool start(Body body, void *argument, const std::string &name) {
    static constexpr size_t stack_bytes = size_t{2} << 20;
    body_ = body;
    argument_ = argument;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    errno = pthread_create(&thread_, &attributes, &Thread::run, this);
    running_ = errno == 0;
    pthread_attr_destroy(&attributes);
    if (running_) pthread_setname_np(thread_, name.substr(0, 15).c_str());
    return running_;
  }
  void join() {
    if (running_) pthread_join(thread_, nullptr);
    running_ = false;
  }
  bool running() const { return running_; }

 private:
  static void *run(void *self) {
    const Thread &thread = *static_cast<Thread *>(self);
    // A body handles running out of memory itself. An exception that left this function would end the server.
    try {
      thread.body_(thread.argument_);
    } catch (const std::exception &problem) {
      log::error("a thread ended: %s", problem.what());
    }
    return nullptr;
  }

  pthread_t thread_{};
  Body body_ = nullptr;
  void *argument_ = nullptr;
  bool running_ = false;
};

}  // namespace postern::door
