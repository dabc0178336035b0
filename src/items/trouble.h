// trouble.h: Trouble, the last error of the table for a container or a mapping. Any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace postern::items {

class Trouble {
 public:
  /// Notes an error; true for the first caller, which logs it. Throws std::bad_alloc.
  bool note(const std::string &words) {
    const std::lock_guard guard(mutex_);
    words_ = words;
    present_.store(true, std::memory_order_relaxed);
    return !told_ && (told_ = true);
  }
  /// Clears the error: the table could be opened.
  void forget() {
    if (!present_.load(std::memory_order_relaxed)) return;
    const std::lock_guard guard(mutex_);
    words_.clear();
    present_.store(false, std::memory_order_relaxed);
  }
  /// The error text; empty: none.
  std::string words() const {
    const std::lock_guard guard(mutex_);
    return words_;
  }

 private:
  std::atomic<bool> present_{false};
  mutable std::mutex mutex_;  // a leaf; guards what follows
  std::string words_;
  bool told_ = false;
};

}  // namespace postern::items
