// shape.h: the columns of an open table as clients see them.
#pragma once

#include <vector>

#include "contract/shape.h"
#include "engine/mariadb/tables/table.h"

namespace postern::mariadb {

/// The columns that the spec wants, in its order. Names are the table's, and valid while it is open.
std::vector<ColumnShape> column_shapes(const OpenTable &table);

}  // namespace postern::mariadb
