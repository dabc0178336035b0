// changing.h: Changing, a number that one thread sets now and then while others read it (relaxed).
#pragma once

#include <atomic>

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

}  // namespace postern
