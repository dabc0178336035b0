// plan_tables.h: PlanTables, the open tables of a plan and the metadata locks on them and on its views.
//
// Each has a metadata lock of its own, so that plans can be given up one by one.
#pragma once

#include <span>
#include <vector>

#include "engine/mariadb/hosted/planned/joins/kept_plan.h"
#include "engine/mariadb/hosted/planned/forms/server.h"
#include "engine/mariadb/hosted/planned/joins/table_figures.h"
#include "engine/mariadb/hosted/reads/read_form.h"

namespace postern::mariadb {

/// Owned by a plan. Opened by `home`, the thread's THD for plans.
class PlanTables {
 public:
  explicit PlanTables(THD *home) : home_(home) {}

  /// Opens the tables of a parsed statement. False: not as they were, some may be open.
  bool open(LEX &lex, const ToBePlanned &what);
  /// When nothing refers to them any more.
  void close();
  /// Notes the statistics with which the statement was planned.
  void note_figures();

  std::span<TABLE *const> all() const { return tables_; }
  std::span<MDL_ticket *const> tickets() const { return tickets_; }
  bool outdated() const;
  bool wanted_by_others() const;
  /// Whether their statistics are similar to those noted.
  bool figures_are_alike() const;

  /// Takes metadata locks until the end of a transaction of several statements, on the tables and views that it has
  /// read. Does not wait. FOR UPDATE counts as a write for metadata locks.
  bool hold(THD *thd, FormLock lock) const;
  /// False: an error is set.
  bool lock(THD *thd);
  static void unlock(THD *thd);

 private:
  THD *const home_;
  std::vector<TABLE *> tables_;
  std::vector<TableFigures> figures_;
  std::vector<MDL_ticket *> tickets_;
};

}  // namespace postern::mariadb
