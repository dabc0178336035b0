// table_figures.h: TableFigures, the statistics with which a table was planned: its rows, and for each part of an index
// the rows with equal values.
//
// Owned by a plan, like its open table.
#pragma once

#include "engine/sql/plans/table_statistics.h"

struct TABLE;

namespace postern::mariadb {

class TableFigures {
 public:
  /// The statistics that the table got from its storage engine.
  explicit TableFigures(const TABLE &table);

  /// Queries the storage engine; the thread acts as the table's THD. False: a figure has more than doubled or halved,
  /// or engine-independent statistics were read again.
  bool are_alike(TABLE &table) const;

 private:
  sql::TableStatistics figures_;
};

}  // namespace postern::mariadb
