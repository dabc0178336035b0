// open_indexes.h: OpenIndexes, the open indexes of one session by their ids.
//
// Clients number ids from 0 or 1 and never close one, so an id is found by its distance from the smallest; other ids
// are searched for. Holds no memory before the first open, then 16 bytes an id and the slot: a single one, which is
// what most clients open, without the bytes that malloc adds. Owned by its session.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/slab.h"
#include "contract/table.h"

namespace postern::handlersocket {

/// While an id is being re-opened, only the engine knows which of the two opens a request will use.
inline constexpr uint32_t unknown_filter_columns = UINT32_MAX;

struct OpenIndex {
  uint32_t id = 0;
  uint32_t filter_columns = 0;
  std::unique_ptr<TableSlot> slot{};

  /// Of a single one.
  static void *operator new(size_t bytes) { return slab_of<OpenIndex>.take(bytes); }
  static void operator delete(void *index, size_t bytes) noexcept { slab_of<OpenIndex>.give_back(index, bytes); }
};
static_assert(sizeof(OpenIndex) == 16);

class OpenIndexes {
 public:
  OpenIndexes() = default;
  OpenIndexes(const OpenIndexes &) = delete;
  OpenIndexes &operator=(const OpenIndexes &) = delete;
  ~OpenIndexes() { give_back(); }

  size_t size() const { return size_; }

  /// nullptr if the id was never opened. Valid until the next add() or settle().
  OpenIndex *find(uint64_t id) {
    if (size_ == 0 || id < indexes_[0].id) return nullptr;
    const uint64_t guess = id - indexes_[0].id;
    if (guess < size_ && indexes_[guess].id == id) return &indexes_[guess];
    OpenIndex *const at = position(id);
    return at != end() && at->id == id ? at : nullptr;
  }

  /// For an id that find() does not know. Valid like what find() returns. Throws std::bad_alloc.
  OpenIndex &add(uint32_t id, uint32_t filter_columns) {
    const auto place = static_cast<size_t>(position(id) - begin());
    if (size_ == capacity()) make_room();
    std::move_backward(begin() + place, end(), end() + 1);
    ++size_;
    return indexes_[place] = {.id = id, .filter_columns = filter_columns};
  }

  /// Called when all opens have run: drops failed ones and the specs that the others replaced.
  void settle() {
    for (OpenIndex *index = begin(); index != end(); ++index) {
      index->slot = TableSlot::settle(std::move(index->slot));
      if (index->slot != nullptr && index->filter_columns == unknown_filter_columns)
        index->filter_columns = static_cast<uint32_t>(index->slot->binding()->spec().filter_columns.size());
    }
    OpenIndex *const kept =
        std::remove_if(begin(), end(), [](const OpenIndex &index) { return index.slot == nullptr; });
    std::for_each(kept, end(), [](OpenIndex &index) { index.slot.reset(); });
    size_ = static_cast<uint32_t>(kept - begin());
  }

 private:
  OpenIndex *begin() { return indexes_; }
  OpenIndex *end() { return indexes_ + size_; }
  OpenIndex *position(uint64_t id) {
    return std::lower_bound(begin(), end(), id,
                            [](const OpenIndex &index, uint64_t wanted) { return index.id < wanted; });
  }
  size_t capacity() const { return indexes_ == nullptr ? 0 : size_t{1} << doublings_; }
  void make_room() {
    const size_t more = std::max<size_t>(2 * capacity(), 1);
    OpenIndex *const wider = more == 1 ? new OpenIndex : new OpenIndex[more];
    std::move(begin(), end(), wider);
    give_back();
    indexes_ = wider;
    doublings_ = static_cast<uint8_t>(std::countr_zero(more));
  }
  void give_back() {
    if (doublings_ == 0) delete indexes_;
    else delete[] indexes_;
  }

  OpenIndex *indexes_ = nullptr;  // by id; 1 << doublings_ of them
  uint32_t size_ = 0;
  uint8_t doublings_ = 0;
};

}  // namespace postern::handlersocket
