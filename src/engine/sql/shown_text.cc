#include "engine/sql/shown_text.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace postern::sql {

struct ShownText::Memory {
  // A text is changed by writing the other copy and switching. The last byte of each is never written.
  char copies[2][bytes_max + 1] = {};
  int shown = 0;
  Memory *next = nullptr;
};

/// Free text memory. The library stays in the process when its plugins are unloaded, and so does this.
class ShownText::Spare {
 public:
  Memory *take() {
    const std::lock_guard guard(mutex_);
    return first_ != nullptr ? std::exchange(first_, first_->next) : new Memory;
  }
  void give(Memory *memory) {
    const std::lock_guard guard(mutex_);
    memory->next = std::exchange(first_, memory);
  }

 private:
  std::mutex mutex_;  // a leaf
  Memory *first_ = nullptr;
};

ShownText::Spare &ShownText::spare() {
  static Spare texts;
  return texts;
}

ShownText::ShownText() : memory_(spare().take()) {
  (void)set("starting");
}

ShownText::~ShownText() {
  spare().give(memory_);
}

const char *ShownText::now() const {
  return memory_->copies[memory_->shown];
}

const char *ShownText::set(Bytes text) {
  memory_->shown ^= 1;
  char *const to = memory_->copies[memory_->shown];
  const size_t length = std::min(text.size(), bytes_max);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
  return to;
}

}  // namespace postern::sql
