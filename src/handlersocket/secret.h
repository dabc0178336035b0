// secret.h: Secret, what clients of a port have to know. Any thread; it may be replaced while they ask.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace postern::handlersocket {

class Secret {
 public:
  Secret() = default;
  Secret(std::string text) : text_(std::move(text)) {}
  Secret(const char *text) : text_(text) {}
  Secret(const Secret &other) : text_(other.text()) {}
  Secret &operator=(const Secret &other) {
    std::string text = other.text();
    const std::lock_guard guard(mutex_);
    text_ = std::move(text);
    return *this;
  }

  bool empty() const {
    const std::lock_guard guard(mutex_);
    return text_.empty();
  }
  /// In a time that does not depend on where they differ.
  bool is(Bytes offered) const {
    const std::lock_guard guard(mutex_);
    return equal_constant_time(text_, offered);
  }

 private:
  std::string text() const {
    const std::lock_guard guard(mutex_);
    return text_;
  }

  mutable std::mutex mutex_;  // a leaf, taken by connections that begin
  std::string text_;
};

}  // namespace postern::handlersocket
