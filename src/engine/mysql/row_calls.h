// row_calls.h: the calls that change a row of a storage engine. Each returns a code of the storage engine, 0 for
// success.
#pragma once

#include "engine/mysql/server.h"

namespace postern::mysqld {

/// Inserts the row in record[0].
inline int insert_row(TABLE &table) {
  return table.file->ha_write_row(table.record[0]);
}
/// Updates the row in record[1] to that in record[0].
inline int update_row(TABLE &table) {
  return table.file->ha_update_row(table.record[1], table.record[0]);
}
/// Deletes the row in record[0].
inline int delete_row(TABLE &table) {
  return table.file->ha_delete_row(table.record[0]);
}

}  // namespace postern::mysqld
