// pool.h: the blocks that Input and Output are made of.
//
// Blocks come in powers of two. Small ones are recycled in a list of the calling thread, so a busy connection costs no
// malloc and an idle one holds no block at all; lists exchange them (free_blocks.h). Large ones (above
// limits::block_bytes_recycled_max) are counted against one bound for the whole process and given back to the system,
// except a few that are kept for the next use. A block may be released by another thread than the one that acquired it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace postern::pool {

struct Block {
  char *data = nullptr;
  size_t size = 0;
};

/// A block of at least `bytes`, or one without data if that is beyond limits::block_bytes_max, beyond the bound
/// of all large blocks, or if there is no memory.
[[nodiscard]] Block acquire(size_t bytes);

/// Gives a block back. A block without data is allowed.
void release(Block block);

/// Frees the calling thread's list, and all blocks kept for any thread; called by a thread before it ends.
void drain();

/// The bound on the bytes of all large blocks and charges together, the bytes in use now, and the most that were.
void set_large_bytes_max(size_t bytes);
size_t large_bytes();
size_t large_bytes_peak();

/// Bytes held outside of blocks as long as a client likes, counted against the same bound. Given back when it dies, on
/// any thread.
class Charge {
 public:
  Charge() = default;
  Charge(Charge &&other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  Charge &operator=(Charge &&other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge();

  /// Counts so many more bytes. False, and nothing counted, if that exceeds the bound.
  [[nodiscard]] bool add(size_t bytes);
  /// Counts so many bytes fewer.
  void subtract(size_t bytes);
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

/// The same for many small objects of one owner: counts in whole lots, so a few objects count as nothing. Touched by
/// one thread at a time.
class Tally {
 public:
  static constexpr size_t lot_bytes = size_t{64} << 10;

  [[nodiscard]] bool add(size_t bytes) {
    const size_t lots = (bytes_ + bytes) / lot_bytes * lot_bytes;
    if (lots > charge_.bytes() && !charge_.add(lots - charge_.bytes())) return false;
    bytes_ += bytes;
    return true;
  }
  void subtract(size_t bytes) {
    bytes_ -= bytes;
    charge_.subtract(charge_.bytes() - bytes_ / lot_bytes * lot_bytes);
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
  Charge charge_;
};

}  // namespace postern::pool
