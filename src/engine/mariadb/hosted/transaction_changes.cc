#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/transaction_changes.h"

namespace postern::mariadb {
namespace {

/// InnoDB frees the locks of so many rows in microseconds.
constexpr uint64_t rows_max = 1'000;

}  // namespace

bool wrote_nothing(THD *thd) {
  const auto &all = thd->transaction->all;
  if (all.modified_non_trans_table) return false;
  if (all.ha_list == nullptr) return true;
  handlerton *const innodb = ha_resolve_by_legacy_type(thd, DB_TYPE_INNODB);
  for (Ha_trx_info *info = all.ha_list; info != nullptr; info = info->next())
    if (info->ht() != innodb || info->is_trx_read_write()) return false;
  return true;
}

bool is_of_innodb_alone(THD *thd) {
  const auto &all = thd->transaction->all;
  return !all.modified_non_trans_table && thd->transaction->stmt.ha_list == nullptr && all.ha_list != nullptr &&
         all.ha_list->next() == nullptr && all.ha_list->ht() == ha_resolve_by_legacy_type(thd, DB_TYPE_INNODB);
}

uint64_t TransactionChanges::counted(const THD *thd) {
  const STATUS_VAR &counts = thd->status_var;
  return uint64_t{counts.ha_write_count} + counts.ha_update_count + counts.ha_delete_count;
}

void TransactionChanges::note_served(THD *thd, uint64_t counted_before) {
  const uint64_t now = counted(thd);
  if (wrote_nothing(thd)) {
    by_server_ = false;
    before_ = now;
  } else if (now != counted_before) {
    by_server_ = true;
  }
}

bool TransactionChanges::are_small(const THD *thd) const {
  return !by_server_ && counted(thd) - before_ <= rows_max;
}

}  // namespace postern::mariadb
