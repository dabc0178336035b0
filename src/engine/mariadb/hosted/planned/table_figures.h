// table_figures.h: TableFigures, the statistics by which a table was planned with: its rows, and for each part of an
// index the rows that have equal values there.
//
// A plan's, like the table that it has open.
#pragma once

#include "engine/sql/plans/table_statistics.h"

struct TABLE;

namespace postern::mariadb {

class TableFigures {
 public:
  /// Those that the table has from its storage engine.
  explicit TableFigures(const TABLE &table);

  /// Asks the storage engine, as the thread of the table's own THD. False: a figure is more than twice as large as it
  /// was, or less than half, or engine-independent statistics have been read anew.
  bool are_alike(TABLE &table) const;

 private:
  sql::TableStatistics figures_;
};

}  // namespace postern::mariadb
