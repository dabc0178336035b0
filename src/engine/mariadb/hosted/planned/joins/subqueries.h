// subqueries.h: Subqueries, those of a plan's statement that the optimizer has left: each is executed for each outer
// row.
//
// The server executes an uncorrelated one once, and uses the result as a constant while planning, so each is correlated
// with the outer values.
#pragma once

#include <vector>

#include "engine/mariadb/hosted/planned/forms/server.h"
#include "engine/mariadb/hosted/planned/joins/scratch_tables.h"

namespace postern::mariadb {

struct Subquery {
  Item_subselect *item = nullptr;
  SELECT_LEX_UNIT *unit = nullptr;
  JOIN *join = nullptr;
};

/// Owned by a plan; its LEX has their SELECTs.
class Subqueries {
 public:
  /// Called before anything is resolved. Makes every subquery correlated for the server, so that it is never executed
  /// only once.
  static void depend(SELECT_LEX &select);
  /// Called once it is resolved. An uncorrelated subquery is a constant in a comparison, unless it is correlated with
  /// an outer level.
  static bool depend_on_outside(THD *home, SELECT_LEX &select);
  /// Notes those that the optimizer has left, and their sums in `scratch`. False: one has a kind that is not executed
  /// here.
  bool note(THD *home, SELECT_LEX &select, ScratchTables &scratch);

  const std::vector<Subquery> &all() const { return all_; }
  bool empty() const { return all_.empty(); }
  void give_to(THD *thd);

 private:
  std::vector<Subquery> all_;
};

}  // namespace postern::mariadb
