#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/tables/row_calls.h"

namespace postern::mariadb {

int insert_row(TABLE &table) {
  return table.file->ha_write_row(table.record[0]);
}

int update_row(TABLE &table) {
  return table.file->ha_update_row(table.record[1], table.record[0]);
}

int delete_old_row(TABLE &table) {
  return table.file->ha_delete_row(table.record[1]);
}

int delete_row(TABLE &table) {
  return table.delete_row();
}

}  // namespace postern::mariadb
