#include "engine/mariadb/hosted/planned/forms/server.h"

#include "engine/mariadb/hosted/planned/joins/range_keys.h"

namespace postern::mariadb {

RangeKeys::RangeKeys(TABLE &table, uint index, Item &) : table_(table), key_(table.key_info[index]) {}
void RangeKeys::compare(THD *, QUICK_RANGE_SELECT &) {}
bool RangeKeys::write(THD *, QUICK_RANGE_SELECT &) {
  return false;
}

}  // namespace postern::mariadb
