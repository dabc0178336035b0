// newest_first.h: NewestFirst, a list of learnt facts that is never shortened.
#pragma once

#include <atomic>

namespace postern::mariadb {

/// Any thread adds to it, lock-free; elements live as long as the list. `One` has a member `next`.
template <class One>
class NewestFirst {
 public:
  NewestFirst() = default;
  ~NewestFirst() {
    for (One *one = first_.load(std::memory_order_acquire); one != nullptr;) {
      One *const next = one->next;
      delete one;
      one = next;
    }
  }
  NewestFirst(const NewestFirst &) = delete;
  NewestFirst &operator=(const NewestFirst &) = delete;

  const One *first() const { return first_.load(std::memory_order_acquire); }
  /// Takes ownership of `added`.
  void push(One *added) {
    added->next = first_.load(std::memory_order_acquire);
    while (!first_.compare_exchange_weak(added->next, added, std::memory_order_acq_rel)) {
    }
  }

 private:
  std::atomic<One *> first_{nullptr};
};

}  // namespace postern::mariadb
