// kept_spec.h: KeptSpec, a TableSpec together with a copy of every name in it. For engines, which keep specs longer
// than a batch lives. Immutable.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "contract/table.h"

namespace postern {

class KeptSpec {
 public:
  /// Throws std::bad_alloc.
  explicit KeptSpec(const TableSpec &spec) : spec_(spec) {
    names_.reserve(spec.columns.size() + spec.filter_columns.size());
    size_t size = spec.database.size() + spec.table.size() + spec.index.size();
    for (const std::span<const Bytes> list : {spec.columns, spec.filter_columns})
      for (const Bytes name : list) size += name.size();
    text_.reserve(size);
    for (Bytes *const name : {&spec_.database, &spec_.table, &spec_.index}) *name = copy(*name);
    for (const std::span<const Bytes> list : {spec.columns, spec.filter_columns})
      for (const Bytes name : list) names_.push_back(copy(name));
    spec_.columns = std::span(names_).first(spec.columns.size());
    spec_.filter_columns = std::span(names_).subspan(spec.columns.size());
  }
  KeptSpec(const KeptSpec &) = delete;
  KeptSpec &operator=(const KeptSpec &) = delete;

  const TableSpec &operator*() const { return spec_; }
  const TableSpec *operator->() const { return &spec_; }
  /// Of memory, besides the object itself.
  size_t bytes() const { return text_.capacity() + names_.capacity() * sizeof(Bytes); }

 private:
  Bytes copy(Bytes name) {
    const size_t at = text_.size();
    text_.append(name);  // within what was reserved, so that views stay valid
    return Bytes(text_).substr(at);
  }

  std::string text_;
  std::vector<Bytes> names_;
  TableSpec spec_;
};

}  // namespace postern
