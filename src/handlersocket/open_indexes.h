// open_indexes.h: OpenIndexes, what one session's index ids stand for.
//
// Clients count ids up from 0 or 1 and never close one, so an id is found by its distance from the smallest;
// any other ids work and are searched for. Holds no memory before the first open, then 16 bytes an id and the
// slot. Owned by its session.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "contract/table.h"

namespace postern::handlersocket {

/// While an id is being re-opened, only the engine knows which of the two opens a request will act on.
inline constexpr uint32_t unknown_filter_columns = UINT32_MAX;

struct OpenIndex {
  uint32_t id = 0;
  uint32_t filter_columns = 0;
  std::unique_ptr<TableSlot> slot{};
};
static_assert(sizeof(OpenIndex) == 16);

class OpenIndexes {
 public:
  size_t size() const { return indexes_.size(); }

  /// nullptr if the id was never opened. Valid until the next add() or settle().
  OpenIndex *find(uint64_t id) {
    if (indexes_.empty() || id < indexes_.front().id) return nullptr;
    const uint64_t guess = id - indexes_.front().id;
    if (guess < indexes_.size() && indexes_[guess].id == id) return &indexes_[guess];
    const auto at = position(id);
    return at != indexes_.end() && at->id == id ? &*at : nullptr;
  }

  /// For an id that find() does not know. Valid like what find() returns.
  OpenIndex &add(uint32_t id, uint32_t filter_columns) {
    if (indexes_.empty()) indexes_.reserve(1);
    return *indexes_.insert(position(id), {.id = id, .filter_columns = filter_columns});
  }

  /// Every open so far has run: forgets those that failed and what the others replaced.
  void settle() {
    for (OpenIndex &index : indexes_) {
      index.slot = TableSlot::settle(std::move(index.slot));
      if (index.slot != nullptr && index.filter_columns == unknown_filter_columns)
        index.filter_columns = static_cast<uint32_t>(index.slot->binding()->spec().filter_columns.size());
    }
    std::erase_if(indexes_, [](const OpenIndex &index) { return index.slot == nullptr; });
  }

 private:
  std::vector<OpenIndex>::iterator position(uint64_t id) {
    return std::lower_bound(indexes_.begin(), indexes_.end(), id,
                            [](const OpenIndex &index, uint64_t wanted) { return index.id < wanted; });
  }

  std::vector<OpenIndex> indexes_;  // by id
};

}  // namespace postern::handlersocket
