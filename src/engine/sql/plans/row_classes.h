// row_classes.h: RowClasses remembers the classes of rows that a form's values had lately, so that a statement is given
// to the plan that was made for them at once.
//
// It is a guess: rows may have changed since. Any thread. Threads may lose each other's notes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace postern::sql {

class RowClasses {
 public:
  /// So many letters has a name of classes at most.
  static constexpr size_t letters_max = 3;

  /// What values with this hash had, or, where that is not known, the values that were noted last. Empty: they are
  /// served by the form's first plan.
  std::string of(uint64_t values) const {
    const uint64_t last = last_.load(std::memory_order_relaxed);
    if (last == 0) return {};  // all are
    const uint64_t own = kept_[values % kept_.size()].load(std::memory_order_relaxed);
    return text_of(((own ^ values) & ~(letters | known)) == 0 && (own & known) != 0 ? own : last);
  }

  /// `classes`: empty, or their name.
  void note(uint64_t values, Bytes classes) {
    // Most forms have one plan, and remember nothing.
    if (classes.empty() && last_.load(std::memory_order_relaxed) == 0) return;
    uint64_t noted = known;
    for (size_t i = 0; i < classes.size() && i < letters_max; ++i)
      noted |= uint64_t{static_cast<unsigned char>(classes[i])} << (8 * i);
    last_.store(noted, std::memory_order_relaxed);
    kept_[values % kept_.size()].store((values & ~(letters | known)) | noted, std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t letters = (uint64_t{1} << (8 * letters_max)) - 1;
  static constexpr uint64_t known = letters + 1;

  static std::string text_of(uint64_t noted) {
    std::string text;
    for (uint64_t left = noted & letters; left != 0; left >>= 8U) text += static_cast<char>(left & 0xffU);
    return text;
  }

  std::array<std::atomic<uint64_t>, 32> kept_{};
  std::atomic<uint64_t> last_{0};
};

}  // namespace postern::sql
