// changing.h: values that one thread sets at times while others read them: Changing, a number (relaxed), and
// ChangingText.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace postern {

template <class Value>
class Changing {
 public:
  Changing(Value value = Value{}) : value_(value) {}
  Changing(const Changing &other) : value_(other) {}
  Changing &operator=(const Changing &other) { return *this = static_cast<Value>(other); }
  Changing &operator=(Value value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator Value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Value> value_;
};

class ChangingText {
 public:
  ChangingText() = default;
  ChangingText(std::string text) : text_(std::move(text)) {}
  ChangingText(const char *text) : text_(text) {}
  ChangingText(const ChangingText &other) : text_(other.text()) {}
  ChangingText &operator=(const ChangingText &other) {
    std::string text = other.text();
    const std::lock_guard guard(mutex_);
    text_ = std::move(text);
    return *this;
  }

  /// The current text.
  std::string text() const {
    const std::lock_guard guard(mutex_);
    return text_;
  }
  /// Calls look(Bytes) with the current text, without a copy; look() sets nothing.
  template <class Look>
  auto look(Look look) const {
    const std::lock_guard guard(mutex_);
    return look(Bytes(text_));
  }

 private:
  mutable std::mutex mutex_;  // a leaf
  std::string text_;
};

}  // namespace postern
