// given_back.h: GivenBack, for how many statements a form is the server's after its plans were bad: few at first, for
// the values at hand may have been odd ones, and twice as many each time that the form is tried again in vain.
//
// Any thread. It knows some hundred forms: one may take the place of another, which is tried sooner then.
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

  /// The form with this hash is given back. Returns for how many statements.
  uint64_t note(uint64_t form) {
    Entry &entry = entries_[form % entries_.size()];
    const bool known = entry.form.exchange(form, std::memory_order_relaxed) == form;
    const uint64_t last = known ? entry.statements.load(std::memory_order_relaxed) : 0;
    const uint64_t next = std::clamp(2 * last, statements_min, statements_max);
    entry.statements.store(next, std::memory_order_relaxed);
    return next;
  }

 private:
  /// Threads that give back two forms at once may mix them up.
  struct Entry {
    std::atomic<uint64_t> form{0};
    std::atomic<uint64_t> statements{0};
  };
  std::array<Entry, 256> entries_;
};

}  // namespace postern::sql
