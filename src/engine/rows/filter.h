// filter.h: Filters, a request's filters, prepared for comparison with rows.
#pragma once

#include <span>
#include <vector>

#include "contract/op.h"
#include "engine/server/table.h"

namespace postern::rows {

/// Belongs to one executor and is prepared anew for each find.
class Filters {
 public:
  enum class Verdict : uint8_t { pass, skip, stop };

  /// Converts the filters' values to their columns' types, with record[0] as scratch. The values must outlive it.
  Failure prepare(THD *thd, OpenTable &table, std::span<const Filter> filters);
  /// Whether the last prepare() left no filter, so that a prepare() without filters can be skipped.
  bool none() const { return prepared_.empty(); }
  /// Judges the row in record[0].
  Verdict judge() const;

 private:
  struct Prepared {
    Filter::Miss miss;
    Comparison comparison;
    bool null;        // the filter's value is NULL
    Field *field;     // nullptr: the filter is true for every row
    size_t image;     // where the value's image begins in images_
    longlong number;  // BIT only: some of its bits lie among the record's NULL bits
    bool as_text;
    Bytes text;  // with as_text
  };
  bool holds(const Prepared &filter) const;

  std::vector<Prepared> prepared_;
  std::vector<uchar> images_;
};

}  // namespace postern::rows
