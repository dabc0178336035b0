// arena.h: bump allocation for the ops of one batch.
//
// Owned by one Batch and touched by one thread at a time. Memory from it lives until clear() or until the arena dies;
// destructors are never run, so only trivially destructible types are accepted. An op that outlives its batch keeps its
// chunks alive. Chunks are small, so a slow client pins few of its neighbours' ops:
//
//   const Arena::Mark from = arena.mark();  ...;  Arena::Kept kept;  if (!kept.keep(arena, from, arena.mark())) refuse;
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/pool.h"

namespace postern {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  template <class T, class... Arguments>
  T *make(Arguments &&...arguments) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    return new (take(sizeof(T), alignof(T))) T{std::forward<Arguments>(arguments)...};
  }

  /// `count` value-initialised objects. The caller has compared `count` with a limit.
  template <class T>
  std::span<T> array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    if (count == 0) return {};
    T *const first = static_cast<T *>(take(sizeof(T) * count, alignof(T)));
    for (size_t i = 0; i < count; ++i) new (first + i) T{};
    return {first, count};
  }

  Bytes copy(Bytes bytes) {
    if (bytes.empty()) return {};
    char *const to = static_cast<char *>(take(bytes.size(), 1));
    std::memcpy(to, bytes.data(), bytes.size());
    return {to, bytes.size()};
  }

  /// Forgets everything handed out; keeps limits::arena_bytes_kept for the next batch and gives the rest back.
  /// A Kept holds on to its chunks.
  void clear() {
    if (any_kept_) drop_kept();
    while (bytes_ > limits::arena_bytes_kept) drop_last(large_.empty() ? chunks_ : large_);
    large_used_ = 0;
    if (chunks_.empty()) {
      current_ = 0;
      next_ = end_ = nullptr;
    } else {
      use(0);
    }
  }

  /// Bytes of memory held, whether used or not.
  size_t bytes() const { return bytes_; }

  /// A position in the arena: everything handed out before it.
  struct Mark {
    size_t chunk = 0;
    size_t large = 0;
  };
  Mark mark() const { return {current_, large_used_}; }

  class Kept;

 private:
  // With shared_ptr's header a chunk fills one block of the pool.
  static constexpr size_t chunk_bytes = (size_t{8} << 10) - 64;

  /// A chunk may be released by another thread than the one that acquired it.
  template <class T>
  struct PoolAllocator {
    using value_type = T;

    PoolAllocator() = default;
    template <class Other>
    explicit(false) PoolAllocator(const PoolAllocator<Other> &) {
    }  // NOLINT(google-explicit-constructor): as it must be
    T *allocate(size_t count) {
      const pool::Block block = pool::acquire(count * sizeof(T));
      if (block.data == nullptr) throw std::bad_alloc();
      return reinterpret_cast<T *>(block.data);
    }
    void deallocate(T *first, size_t count) noexcept {
      const size_t bytes = std::bit_ceil(std::max(count * sizeof(T), limits::block_bytes_min));
      pool::release({reinterpret_cast<char *>(first), bytes});
    }
    bool operator==(const PoolAllocator &) const = default;
  };

  struct Chunk {
    std::shared_ptr<char[]> data;
    size_t size = 0;
    bool kept = false;  // by a Kept, too
  };

  /// In line, where size and alignment are known.
  [[gnu::always_inline]] void *take(size_t size, size_t alignment) {
    const auto padding = static_cast<size_t>(-reinterpret_cast<uintptr_t>(next_)) & (alignment - 1);
    if (static_cast<size_t>(end_ - next_) < size + padding) return take_anew(size);
    char *const at = next_ + padding;
    next_ = at + size;
    return at;
  }

  // operator new[] aligns for every fundamental type, so a chunk's first object needs no padding.
  [[gnu::noinline]] void *take_anew(size_t size) {
    if (size > chunk_bytes) return take_large(size);
    const size_t chunk = chunks_.empty() ? 0 : current_ + 1;
    if (chunk == chunks_.size()) add(chunks_, chunk_bytes);
    use(chunk);
    char *const at = next_;
    next_ += size;
    return at;
  }

  /// A chunk of its own. The small ones stay where they are.
  void *take_large(size_t size) {
    size_t chunk = large_used_;
    while (chunk < large_.size() && large_[chunk].size < size) ++chunk;
    if (chunk == large_.size()) add(large_, size);
    std::swap(large_[chunk], large_[large_used_]);
    return large_[large_used_++].data.get();
  }

  void add(std::vector<Chunk> &to, size_t size) {
    to.push_back({size == chunk_bytes ? make_chunk() : std::shared_ptr<char[]>(new char[size]), size});
    bytes_ += size;
  }

  static std::shared_ptr<char[]> make_chunk() {
    struct alignas(std::max_align_t) Piece {
      char bytes[alignof(std::max_align_t)];
    };
    static_assert(chunk_bytes % sizeof(Piece) == 0);
    const std::shared_ptr<Piece[]> pieces =
        std::allocate_shared_for_overwrite<Piece[]>(PoolAllocator<Piece>(), chunk_bytes / sizeof(Piece));
    return {pieces, pieces[0].bytes};
  }

  void drop_last(std::vector<Chunk> &from) {
    bytes_ -= from.back().size;
    from.pop_back();
  }

  /// Only the arena makes further owners of a chunk: one that no Kept has any more is its own again.
  static bool is_elsewhere(const Chunk &chunk) {
    if (!chunk.kept || chunk.data.use_count() != 1) return chunk.kept;
    std::atomic_thread_fence(std::memory_order_acquire);  // another thread may have used and released it
    return false;
  }

  [[gnu::noinline]] void drop_kept() {
    for (std::vector<Chunk> *const chunks : {&chunks_, &large_}) {
      for (Chunk &chunk : *chunks) {
        chunk.kept = is_elsewhere(chunk);
        if (chunk.kept) bytes_ -= chunk.size;
      }
      std::erase_if(*chunks, [](const Chunk &chunk) { return chunk.kept; });
    }
    any_kept_ = false;
  }

  void use(size_t chunk) {
    current_ = chunk;
    next_ = chunks_[chunk].data.get();
    end_ = next_ + chunks_[chunk].size;
  }

  std::vector<Chunk> chunks_;  // all of one size
  std::vector<Chunk> large_;   // each for one larger allocation
  char *next_ = nullptr;
  char *end_ = nullptr;
  size_t bytes_ = 0;
  size_t current_ = 0;     // the chunk of next_
  size_t large_used_ = 0;  // in this batch
  bool any_kept_ = false;
};

/// Keeps the memory between two marks alive after clear() and after the arena's end. Any thread. It counts against the
/// bound of large buffers, because a client decides how long it lives.
class Arena::Kept {
 public:
  /// False, and nothing kept, if there is no memory for that.
  [[nodiscard]] bool keep(Arena &arena, Mark from, Mark to) {
    const size_t chunks = arena.chunks_.empty() ? 0 : to.chunk - from.chunk + 1;
    const std::span small = std::span(arena.chunks_).subspan(from.chunk, chunks);
    const std::span large = std::span(arena.large_).subspan(from.large, to.large - from.large);
    pool::Charge charge;
    for (const std::span some : {small, large})
      for (const Chunk &chunk : some)
        if (!charge.add(chunk.size)) return false;
    const size_t all = small.size() + large.size();
    std::unique_ptr<std::shared_ptr<char[]>[]> memory;
    if (all > 1) {
      memory.reset(new (std::nothrow) std::shared_ptr<char[]>[all - 1]);
      if (memory == nullptr) return false;
    }
    size_t count = 0;
    for (const std::span some : {small, large}) {
      for (Chunk &chunk : some) {
        (count == 0 ? first_ : memory[count - 1]) = chunk.data;
        ++count;
        chunk.kept = arena.any_kept_ = true;
      }
    }
    if (all == 0) first_.reset();
    memory_ = std::move(memory);
    charge_ = std::move(charge);
    return true;
  }
  /// Keeps nothing any more.
  void release() {
    first_.reset();
    memory_.reset();
    charge_ = pool::Charge();
  }

 private:
  std::shared_ptr<char[]> first_;  // mostly the only one
  std::unique_ptr<std::shared_ptr<char[]>[]> memory_;
  pool::Charge charge_;
};

}  // namespace postern
