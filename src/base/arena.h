// arena.h: bump allocation for the ops of one batch.
//
// Owned by one Batch and touched by one thread at a time. What it hands out lives until clear() or until the
// arena dies; destructors are never run, so only trivially destructible types are accepted. An arena can be
// moved: a connection that leaves for the slow lane takes the arena its ops live in along.
#pragma once

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

namespace postern {

class Arena {
 public:
  Arena() = default;
  Arena(Arena &&other) noexcept
      : chunks_(std::move(other.chunks_)),
        next_(std::exchange(other.next_, nullptr)),
        end_(std::exchange(other.end_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        current_(std::exchange(other.current_, 0)) {
    other.chunks_.clear();
  }
  Arena &operator=(Arena &&other) noexcept {
    if (this != &other) {
      chunks_ = std::move(other.chunks_);
      other.chunks_.clear();
      next_ = std::exchange(other.next_, nullptr);
      end_ = std::exchange(other.end_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
      current_ = std::exchange(other.current_, 0);
    }
    return *this;
  }

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
  void clear() {
    while (bytes_ > limits::arena_bytes_kept) {
      bytes_ -= chunks_.back().size;
      chunks_.pop_back();
    }
    if (chunks_.empty()) {
      next_ = end_ = nullptr;
    } else {
      use(0);
    }
  }

  /// Bytes of memory held, used or not.
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t chunk_bytes = size_t{32} << 10;
  struct Chunk {
    std::unique_ptr<char[]> data;
    size_t size = 0;
  };

  /// In line, where size and alignment are known.
  [[gnu::always_inline]] void *take(size_t size, size_t alignment) {
    const auto padding = static_cast<size_t>(-reinterpret_cast<uintptr_t>(next_)) & (alignment - 1);
    if (static_cast<size_t>(end_ - next_) < size + padding) return take_from_next_chunk(size);
    char *const at = next_ + padding;
    next_ = at + size;
    return at;
  }

  [[gnu::noinline]] void *take_from_next_chunk(size_t size) {
    size_t chunk = chunks_.empty() ? 0 : current_ + 1;
    while (chunk < chunks_.size() && chunks_[chunk].size < size) ++chunk;
    if (chunk == chunks_.size()) {
      const size_t chunk_size = size > chunk_bytes ? size : chunk_bytes;
      // operator new[] aligns for every fundamental type, so a chunk's first object needs no padding.
      chunks_.push_back({std::unique_ptr<char[]>(new char[chunk_size]), chunk_size});
      bytes_ += chunk_size;
    }
    use(chunk);
    char *const at = next_;
    next_ += size;
    return at;
  }

  void use(size_t chunk) {
    current_ = chunk;
    next_ = chunks_[chunk].data.get();
    end_ = next_ + chunks_[chunk].size;
  }

  std::vector<Chunk> chunks_;
  char *next_ = nullptr;
  char *end_ = nullptr;
  size_t bytes_ = 0;
  size_t current_ = 0;  // the chunk of next_
};

}  // namespace postern
