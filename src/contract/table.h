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
  /// Not 0: the index has to be the key of the rows: unique, of whole columns that are never NULL, namely of the first
  /// so many of `columns` in their order, so that these values of a row are the key that finds it. If it is not,
  /// whenever the table is opened, the open and every op on the index fail as index_not_the_key.
  uint32_t key_columns = 0;
  /// Not negative: where no index has the name `index`, the one at this position is meant, counted from 0 in the order
  /// of SHOW INDEX.
  int32_t index_position = -1;
  /// Texts are utf8mb4, and columns of another character set are converted to and from it, as for a client of SQL with
  /// that one; else texts are the bytes of the columns. Bytes are bytes in either case.
  bool unicode = false;
};

/// What an engine made of a TableSpec: the names, known to be good when it was made. Owned by the engine and shared
/// by every slot and executor; what an executor keeps open for it is the executor's own affair.
class Binding {
 public:
  /// A slot that pointed here is gone. Any thread.
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

  /// Each index that a client has opened has one.
  static void *operator new(size_t bytes) { return slab_of<TableSlot>.take(bytes); }
  static void operator delete(void *slot, size_t bytes) noexcept { slab_of<TableSlot>.give_back(slot, bytes); }

  /// Engine only: `binding` counts this slot as a user already.
  void fill(Binding *binding) { binding_ = binding; }
  bool filled() const { return binding_ != nullptr; }
  /// Engine only: the open ran again and failed.
  void clear() {
    if (binding_ != nullptr) std::exchange(binding_, nullptr)->unuse();
  }

  /// What ops on this slot act on: nullptr if neither this nor any earlier open of the id succeeded.
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
