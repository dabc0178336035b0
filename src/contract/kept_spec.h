// kept_spec.h: KeptSpec, a TableSpec together with a copy of every name in it. For engines, which keep specs longer
// than a batch. Immutable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>

#include "base/own_block.h"
#include "contract/table.h"

namespace postern {

class KeptSpec {
 public:
  /// Throws std::bad_alloc.
  explicit KeptSpec(const TableSpec &spec) : spec_(spec), block_(size_of(spec)) {
    const size_t name_count = spec.columns.size() + spec.filter_columns.size();
    Bytes *name = reinterpret_cast<Bytes *>(block_.data());
    text_ = block_.data() + name_count * sizeof(Bytes);
    spec_.columns = {name, spec.columns.size()};
    for (const Bytes column : spec.columns) new (name++) Bytes(copy(column));
    spec_.filter_columns = {name, spec.filter_columns.size()};
    for (const Bytes column : spec.filter_columns) new (name++) Bytes(copy(column));
    for (Bytes *const one : {&spec_.database, &spec_.table, &spec_.index}) *one = copy(*one);
  }
  KeptSpec(const KeptSpec &) = delete;
  KeptSpec &operator=(const KeptSpec &) = delete;

  const TableSpec &operator*() const { return spec_; }
  const TableSpec *operator->() const { return &spec_; }
  /// Memory used besides the object itself.
  size_t bytes() const { return block_.size(); }

 private:
  static size_t size_of(const TableSpec &spec) {
    size_t size = spec.database.size() + spec.table.size() + spec.index.size();
    for (const std::span<const Bytes> list : {spec.columns, spec.filter_columns})
      for (const Bytes name : list) size += sizeof(Bytes) + name.size();
    return size;
  }

  Bytes copy(Bytes name) {
    char *const at = text_;
    text_ = std::ranges::copy(name, at).out;
    return {at, name.size()};
  }

  TableSpec spec_;
  OwnBlock block_;        // the names of both lists, then the letters of all
  char *text_ = nullptr;  // where the next letters go
};

}  // namespace postern
