// table.h: an open table: TableSpec, its names, and TableSlot, where the engine keeps their meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/slab.h"

namespace postern {

/// Names of a table, one of its indexes and the columns wanted of it (UTF-8, compared as SQL compares identifiers).
/// Views; they must live until the batch is settled; the engine copies the ones that it keeps (KeptSpec).
struct TableSpec {
  Bytes database;
  Bytes table;
  Bytes index;                              ///< by name; `PRIMARY` for the primary key
  std::span<const Bytes> columns{};         ///< may be empty, may repeat
  std::span<const Bytes> filter_columns{};  ///< may be empty, may repeat
  /// Not 0: the index must be a key of the rows: unique, over exactly the first so many of `columns`, whole and NOT
  /// NULL, so that these values of a row find it. If it is not, the open and every op on the index fail as
  /// index_not_the_key, whenever the table is opened.
  uint32_t key_columns = 0;
  /// Not negative: if no index has the name `index`, the index at this position, counted from 0 in the order of SHOW
  /// INDEX.
  int32_t index_position = -1;
  /// Texts are utf8mb4, and columns of other character sets are converted, as for an SQL client with that character
  /// set; otherwise texts are the bytes of the columns. Binary columns are never converted.
  bool unicode = false;
};

/// A TableSpec that an engine has resolved: its names were valid when it was made. Owned by the engine and shared by
/// every slot and executor; executors keep their own open tables for it.
class Binding {
 public:
  /// Called when a slot that pointed here is gone. Any thread.
  virtual void unuse() noexcept = 0;
  /// The names this was made from; valid while a slot points here.
  virtual const TableSpec &spec() const noexcept = 0;

 protected:
  ~Binding() = default;
};

/// One open index of one session. Protocols allocate it when they parse an open request and point later ops at
/// it; the engine fills it when the open runs. A slot that was not filled refers to the one it would have replaced,
/// so a failed re-open leaves the old index open. Owned by its session.
class TableSlot {
 public:
  explicit TableSlot(std::unique_ptr<TableSlot> previous = nullptr) : previous_(std::move(previous)) {}
  TableSlot(const TableSlot &) = delete;
  TableSlot &operator=(const TableSlot &) = delete;
  ~TableSlot() {
    if (binding_ != nullptr) binding_->unuse();
  }

  /// There is one for each index that a client has opened.
  static void *operator new(size_t bytes) { return slab_of<TableSlot>.take(bytes); }
  static void operator delete(void *slot, size_t bytes) noexcept { slab_of<TableSlot>.give_back(slot, bytes); }

  /// Engine only: `binding` counts this slot as a user already.
  void fill(Binding *binding) { binding_ = binding; }
  bool filled() const { return binding_ != nullptr; }
  /// Engine only: the open ran again and failed.
  void clear() {
    if (binding_ != nullptr) std::exchange(binding_, nullptr)->unuse();
  }

  /// The binding that ops on this slot use; nullptr if neither this nor any earlier open of the id succeeded.
  Binding *binding() const {
    const TableSlot *slot = this;
    while (slot->binding_ == nullptr && slot->previous_ != nullptr) slot = slot->previous_.get();
    return slot->binding_;
  }

  /// After its batch is settled: the slot to keep, which is this one, or an earlier one if this was not filled;
  /// nullptr if none is open.
  static std::unique_ptr<TableSlot> settle(std::unique_ptr<TableSlot> slot) {
    while (slot != nullptr && !slot->filled()) slot = std::move(slot->previous_);
    if (slot != nullptr) slot->previous_.reset();
    return slot;
  }

 private:
  Binding *binding_ = nullptr;
  std::unique_ptr<TableSlot> previous_;
};

}  // namespace postern
