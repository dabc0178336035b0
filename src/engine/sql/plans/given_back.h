// given_back.h: GivenBack, the number of statements for which a form is left to the server after bad plans: few at
// first, because the values may have been unusual, and twice as many after each further trial in vain.
//
// Any thread. It has room for some hundred forms: one may replace another, which is tried sooner then.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace postern::sql {

class GivenBack {
 public:
  static constexpr uint64_t statements_min = 64;
  static constexpr uint64_t statements_max = 4096;

  /// Gives the form with this hash back to the server. Returns for how many statements.
  uint64_t note(uint64_t form) {
    Entry &entry = entries_[form % entries_.size()];
    const bool known = entry.form.exchange(form, std::memory_order_relaxed) == form;
    const uint64_t last = known ? entry.statements.load(std::memory_order_relaxed) : 0;
    const uint64_t next = std::clamp(2 * last, statements_min, statements_max);
    entry.statements.store(next, std::memory_order_relaxed);
    return next;
  }

 private:
  /// Two threads that give back forms at the same time may mix them up.
  struct Entry {
    std::atomic<uint64_t> form{0};
    std::atomic<uint64_t> statements{0};
  };
  std::array<Entry, 256> entries_;
};

}  // namespace postern::sql
