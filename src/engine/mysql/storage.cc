#include "engine/mysql/server.h"

#include "engine/mysql/storage.h"

namespace postern::mysqld {

Bytes storage_engine_name(const TABLE &table) {
  return ha_resolve_storage_engine_name(table.s->db_type());
}

const StorageEngine *storage_engine(const TABLE &table) {
  static constexpr StorageEngine innodb{"InnoDB", Walks::both, true};
  return storage_engine_name(table) == innodb.name ? &innodb : nullptr;
}

}  // namespace postern::mysqld
