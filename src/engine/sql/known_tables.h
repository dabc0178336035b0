// known_tables.h: KnownTables, one executor's tables for the specs that it has used, by their ids.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/pool.h"
#include "engine/sql/specs.h"

namespace postern::sql {

/// Belongs to one executor and is used on its thread. Counted against the bound of large buffers, because clients
/// decide their number and size. `Table` must have:
///
///     uint32_t id       of its spec
///     uint64_t serial   of its spec
///     size_t bytes      of memory, about
template <class Table>
class KnownTables {
 public:
  explicit KnownTables(Specs &specs) : specs_(specs) {}
  KnownTables(const KnownTables &) = delete;
  KnownTables &operator=(const KnownTables &) = delete;

  /// nullptr if there is none for the spec with this id.
  Table *find(uint32_t id) const { return id < tables_.size() ? tables_[id].get() : nullptr; }
  /// Replaces the table for its id. Throws std::bad_alloc, also beyond the bound.
  Table &put(std::unique_ptr<Table> table) {
    if (table->id >= tables_.size()) tables_.resize(table->id + 1);
    std::unique_ptr<Table> &place = tables_[table->id];
    forget(place);
    if (!bytes_.add(table->bytes)) throw std::bad_alloc();
    place = std::move(table);
    return *place;
  }

  /// Whether it holds so much that entries of deleted specs should be dropped.
  bool worth_a_look() const { return bytes_.bytes() > limits::open_tables_bytes_max && seen_ != specs_.retired(); }
  /// Drops entries of deleted specs; none of them may be open.
  void forget_retired() {
    seen_ = specs_.retired();
    specs_.visit_serials([this](std::span<const uint64_t> serials) {
      for (std::unique_ptr<Table> &table : tables_)
        if (table != nullptr && serials[table->id] != table->serial) forget(table);
    });
  }
  /// Whether forget_most() would drop any.
  bool has_much() const { return bytes_.bytes() > limits::open_tables_bytes_kept; }
  /// For a thread that is about to sleep, with none open: also drops the rest if that is much.
  void forget_most() {
    if (has_much() && seen_ != specs_.retired()) forget_retired();
    if (has_much()) forget_all();
  }
  void forget_all() {
    for (std::unique_ptr<Table> &table : tables_) forget(table);
  }

  template <class Visit>
  void visit(Visit visit) const {
    for (const auto &table : tables_)
      if (table != nullptr) visit(*table);
  }

 private:
  void forget(std::unique_ptr<Table> &table) {
    if (table == nullptr) return;
    bytes_.subtract(table->bytes);
    table.reset();
  }

  Specs &specs_;
  std::vector<std::unique_ptr<Table>> tables_;
  pool::Tally bytes_;
  uint64_t seen_ = 0;  // of Specs::retired()
};

}  // namespace postern::sql
