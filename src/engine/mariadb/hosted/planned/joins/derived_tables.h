// derived_tables.h: DerivedTables, the derived tables of a plan's statement that the optimizer has not merged: each is
// emptied and filled before the statement around it is executed.
#pragma once

#include <vector>

#include "engine/mariadb/hosted/planned/joins/scratch_tables.h"
#include "engine/mariadb/hosted/planned/forms/server.h"

namespace postern::mariadb {

struct DerivedTable {
  TABLE_LIST *list = nullptr;
  SELECT_LEX_UNIT *unit = nullptr;
  JOIN *join = nullptr;
};

/// Owned by a plan; its LEX has their SELECTs.
class DerivedTables {
 public:
  /// Called once the statement's tables are open: resolves each, marked as one that may be executed again.
  static bool prepare(LEX &lex);
  /// Takes the list of tables that the server has made for them.
  void own(TABLE *tables) { tables_ = tables; }
  /// Once planned. nullptr: they may be executed; otherwise the reason why not.
  const char *note(SELECT_LEX &select, ScratchTables &scratch);

  const std::vector<DerivedTable> &all() const { return all_; }
  void give_to(THD *thd);
  /// `again`: not the first time. False: an error is set, or it was interrupted.
  bool fill(THD *thd, LEX &lex, bool again) const;
  /// False: one keeps rows, so the plan must not be executed again.
  bool empty() const;
  /// When nothing refers to them any more.
  void free(THD *home);

 private:
  std::vector<DerivedTable> all_;
  TABLE *tables_ = nullptr;  // theirs, and those of merged ones: a list
};

}  // namespace postern::mariadb
