// renewed_ranges.h: RenewedRanges, the ranges of indexes by which a plan reads its tables. They depend on values, so
// they are made anew for each execution.
#pragma once

#include <optional>
#include <vector>

#include "engine/mariadb/hosted/planned/forms/server.h"

namespace postern::mariadb {

/// Owned by a plan; the ranges belong to its JOINs.
class RenewedRanges {
 public:
  /// False: one of the JOIN's cannot be renewed.
  bool note(JOIN *join);
  bool empty() const { return all_.empty(); }
  /// With the tables locked. False: there are none by these values, or an error is set.
  bool renew(THD *thd) const;

 private:
  struct RangedRead {
    SQL_SELECT *select = nullptr;
    Item *condition = nullptr;
    uint index = 0;
    std::optional<uint> down_by;  ///< read downwards: by how many parts, the primary key's included
  };

  std::vector<RangedRead> all_;
};

}  // namespace postern::mariadb
