// own_block.h: OwnBlock, memory that goes back to the system when it is freed, if large.
//
// malloc maps a large block by itself only until a larger one has been freed anywhere in the process: from then on
// blocks of that size come from its heaps, which may never shrink. Code that holds many large blocks as long as a
// client likes uses OwnBlock.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "base/limits.h"

namespace postern {

/// Aligned for any object, and not initialised. Has one owner; any thread may free it.
class OwnBlock {
 public:
  /// Throws std::bad_alloc.
  explicit OwnBlock(size_t bytes) : bytes_(bytes) {
    if (!is_mapped()) {
      data_ = static_cast<char *>(::operator new(bytes));
      return;
    }
    void *const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<char *>(mapped);
  }
  OwnBlock(const OwnBlock &) = delete;
  OwnBlock &operator=(const OwnBlock &) = delete;
  ~OwnBlock() {
    if (is_mapped()) munmap(data_, bytes_);
    else ::operator delete(data_);
  }

  char *data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  bool is_mapped() const { return bytes_ >= limits::own_block_bytes_mapped_min; }

  size_t bytes_;
  char *data_;
};

}  // namespace postern
