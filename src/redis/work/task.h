// task.h: Task, a coroutine that another one awaits, and that stops when a Work has to run a step.
//
//   Task<bool> exists(Work &work) { ...; co_return true; }
//   Task<> run(Work &work) { if (co_await exists(work)) ...; }
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "base/small_blocks.h"

namespace postern::redis {

template <class T>
class Task;

namespace task {

struct PromiseBase {
  // Each request makes several coroutines.
  static void *operator new(size_t bytes) { return small_blocks::acquire(bytes); }
  static void operator delete(void *frame, size_t bytes) { small_blocks::release(frame, bytes); }

  std::coroutine_handle<> waiting = std::noop_coroutine();
  std::exception_ptr thrown{};

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept {
      return done.promise().waiting;
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value{};
  Task<T> get_return_object();
  void return_value(T result) { value = std::move(result); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
};

}  // namespace task

/// Owns the coroutine, which begins when it is awaited.
template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = task::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task &operator=(Task &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  Handle handle() const { return handle_; }
  /// Rethrows the coroutine's exception.
  T result() const {
    if (handle_.promise().thrown) std::rethrow_exception(handle_.promise().thrown);
    if constexpr (!std::is_void_v<T>) return std::move(*handle_.promise().value);
  }

  auto operator co_await() const noexcept {
    struct Waiter {
      const Task &task;
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) const noexcept {
        task.handle_.promise().waiting = waiting;
        return task.handle_;
      }
      T await_resume() const { return task.result(); }
    };
    return Waiter{*this};
  }

 private:
  Handle handle_{};
};

namespace task {

template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace task
}  // namespace postern::redis
