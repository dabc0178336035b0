// free_blocks.h: FreeList, free blocks of one size that a thread keeps for itself, and Depot, where threads exchange
// them.
//
// If one thread acquires blocks and another releases them, as with replies that the write lane writes and workers send,
// the first would always allocate and the second always free. So a list with too many blocks leaves a chain of them in
// the depot, and an empty list takes one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace postern {

/// The first bytes of each free block.
struct FreeBlock {
  FreeBlock *next;
};

// Trivial on purpose: a thread_local with a destructor would prevent unloading the plugin's library.
struct FreeList {
  FreeBlock *head;
  size_t count;

  /// nullptr: it is empty.
  void *take() {
    FreeBlock *const first = head;
    if (first == nullptr) return nullptr;
    head = first->next;
    --count;
    return first;
  }
  void add(void *block) {
    head = new (block) FreeBlock{head};
    ++count;
  }
  void drain() {
    while (void *const block = take()) std::free(block);
  }
};

/// Any thread may call it. All its chains have the same number of blocks, the same for all lists of one size.
class Depot {
 public:
  explicit constexpr Depot(size_t chain_blocks) : chain_blocks_(chain_blocks) {}

  /// Fills a list that is empty. False: it has no chain.
  bool fill(FreeList &list) {
    for (std::atomic<FreeBlock *> &place : chains_) {
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      FreeBlock *const chain = place.exchange(nullptr, std::memory_order_acquire);
      if (chain == nullptr) continue;
      list = {chain, chain_blocks_};
      return true;
    }
    return false;
  }

  /// Takes a chain from a list. False: the list is too short, or the depot is full.
  bool relieve(FreeList &list) {
    if (list.count < chain_blocks_) return false;
    for (std::atomic<FreeBlock *> &place : chains_) {
      if (place.load(std::memory_order_relaxed) != nullptr) continue;
      FreeBlock *last = list.head;
      for (size_t i = 1; i != chain_blocks_; ++i) last = last->next;
      FreeBlock *const rest = last->next;
      last->next = nullptr;
      FreeBlock *none = nullptr;
      if (place.compare_exchange_strong(none, list.head, std::memory_order_release, std::memory_order_relaxed)) {
        list = {rest, list.count - chain_blocks_};
        return true;
      }
      last->next = rest;
    }
    return false;
  }

  void drain() {
    FreeList list{};
    while (fill(list)) list.drain();
  }

 private:
  static constexpr size_t places = 16;

  const size_t chain_blocks_;
  std::array<std::atomic<FreeBlock *>, places> chains_{};
};

}  // namespace postern
