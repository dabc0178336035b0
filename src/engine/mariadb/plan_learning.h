// plan_learning.h: what plans of all kinds have in common in what they learn.
#pragma once

#include <atomic>
#include <cstdint>

namespace postern::mariadb {

/// Of one plan. Who learns more has a table that is altered all the time, or clients of ever other forms.
inline constexpr uint32_t known_max = 32;

/// A list that is only added to, by any thread and without blocking, and lives as long as what it hangs on. `One` has a
/// member `next`.
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
