// pool.h: the blocks that Input and Output are made of.
//
// Blocks come in powers of two. Small ones are recycled in a list of the calling thread, so a busy connection
// costs no malloc and an idle one holds no block at all. Large ones (above limits::block_bytes_recycled_max) are
// counted against one bound for the whole process and given back to malloc at once. A block may be released by
// another thread than the one that acquired it.
#pragma once

#include <cstddef>
#include <cstdint>

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

/// Frees the calling thread's list; called by a thread before it ends.
void drain();

/// The bound on the bytes of all large blocks together, and what they use now.
void set_large_bytes_max(size_t bytes);
size_t large_bytes();

}  // namespace postern::pool
