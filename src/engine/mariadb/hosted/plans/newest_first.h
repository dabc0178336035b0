// newest_first.h: NewestFirst, a list of facts that threads learn and that none of them takes away.
#pragma once

#include <atomic>

namespace postern::mariadb {

/// A list that is only added to, by any thread and without blocking, and lives as long as its owner. `One` has a member
/// `next`.
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
  /// `added` is the list's from here on.
  void push(One *added) {
    added->next = first_.load(std::memory_order_acquire);
    while (!first_.compare_exchange_weak(added->next, added, std::memory_order_acq_rel)) {
    }
  }

 private:
  std::atomic<One *> first_{nullptr};
};

}  // namespace postern::mariadb
