// shape.h: what the columns of an open table look like to clients.
#pragma once

#include <vector>

#include "contract/shape.h"
#include "engine/mariadb/tables/table.h"

namespace postern::mariadb {

/// The columns that the spec wants, in its order. Names are the table's, and valid while it is open.
std::vector<ColumnShape> column_shapes(const OpenTable &table);

}  // namespace postern::mariadb
