// names.h: Names, a TableSpec as tests write it, with its lists in braces: {"contract", "t", "PRIMARY", {"id", "v"}}.
#pragma once

#include <vector>

#include "contract/table.h"

namespace postern {

struct Names {
  Bytes database;
  Bytes table;
  Bytes index;
  std::vector<Bytes> columns{};
  std::vector<Bytes> filter_columns{};
  uint32_t key_columns = 0;
  int32_t index_position = -1;

  /// Borrows from this.
  TableSpec spec() const { return {database, table, index, columns, filter_columns, key_columns, index_position}; }
};

}  // namespace postern
