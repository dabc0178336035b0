// lasting.h: Lasting, a list of objects with stable addresses, which are destroyed together.
//
// The first few lie in the list itself: a command on one element allocates nothing.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <utility>

namespace postern::redis {

template <class T, size_t here>
class Lasting {
 public:
  Lasting() = default;
  Lasting(const Lasting &) = delete;
  Lasting &operator=(const Lasting &) = delete;
  ~Lasting() { clear(); }

  size_t size() const { return count_; }
  T &operator[](size_t at) { return at < here ? *first(at) : (*more_)[at - here]; }
  T &back() { return (*this)[count_ - 1]; }

  /// Adds `T{arguments...}`.
  template <class... Arguments>
  T &add(Arguments &&...arguments) {
    if (count_ < here) {
      T *const made = new (room_ + count_ * sizeof(T)) T{std::forward<Arguments>(arguments)...};
      ++count_;
      return *made;
    }
    if (more_ == nullptr) more_ = std::make_unique<std::deque<T>>();
    more_->push_back(T{std::forward<Arguments>(arguments)...});
    ++count_;
    return more_->back();
  }

  void clear() {
    for (size_t at = 0; at < count_ && at < here; ++at) first(at)->~T();
    count_ = 0;
    more_.reset();
  }

 private:
  T *first(size_t at) { return std::launder(reinterpret_cast<T *>(room_ + at * sizeof(T))); }

  size_t count_ = 0;
  std::unique_ptr<std::deque<T>> more_;
  alignas(T) std::byte room_[here * sizeof(T)];
};

}  // namespace postern::redis
