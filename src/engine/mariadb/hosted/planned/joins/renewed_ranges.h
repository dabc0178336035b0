// renewed_ranges.h: RenewedRanges, the ranges of indexes by which a plan reads its tables. They depend on values, so
// they are made anew for each execution.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/mariadb/hosted/planned/forms/server.h"
#include "engine/mariadb/hosted/planned/joins/plan_memory.h"
#include "engine/mariadb/hosted/planned/joins/range_keys.h"

namespace postern::mariadb {

/// Owned by a plan; the ranges belong to its JOINs.
class RenewedRanges {
 public:
  /// False: one of the JOIN's cannot be renewed.
  bool note(JOIN *join);
  bool empty() const { return all_.empty(); }
  /// With the tables locked. False: there are none by these values, or an error is set.
  bool renew(THD *thd);

 private:
  struct RangedRead {
    SQL_SELECT *select;
    Item *condition;
    uint index;
    std::optional<uint> down_by;  ///< read downwards: by how many parts, the primary key's included
    RangeKeys keys;
    std::unique_ptr<PlanMemory> downwards{};  ///< the list of ranges that are read downwards
  };

  static bool rewrite(THD *thd, RangedRead &one);
  static bool remake(THD *thd, RangedRead &one);

  std::vector<RangedRead> all_;
};

}  // namespace postern::mariadb
