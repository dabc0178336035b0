#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/reads/kept_table.h"

#include <new>
#include <utility>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/thd/session_statement.h"

namespace postern::mariadb {

std::optional<WhyNot> may_be_kept(const TABLE &table) {
  const TABLE_SHARE &share = *table.s;
  if (table.file->ht->db_type != DB_TYPE_INNODB || share.versioned != VERS_UNDEFINED ||
      share.table_type != TABLE_TYPE_NORMAL || share.tmp_table != NO_TMP_TABLE ||
      share.table_category != TABLE_CATEGORY_USER || compat::has_indexes_beside(*table.s))
    return WhyNot::table_feature;
#ifdef WITH_PARTITION_STORAGE_ENGINE
  if (table.part_info != nullptr) return WhyNot::partitions;
#endif
  if (table.vfield != nullptr) return WhyNot::computed;
  return std::nullopt;
}

bool is_outdated(TABLE &table) {
  return table.needs_reopen() || table.s->tdc->flushed;
}

KeptTable::KeptTable(THD *home, const TableNames &names)
    : home_(home), database_(*names.database), name_(*names.table) {
  list_.table = nullptr;
}

/// It has a metadata lock of its own, so that tables can be closed one by one.
bool KeptTable::open(uint64_t version) {
  THD *const thd = home_;
  // The THD has no end of a statement, which would free what opening leaves in memory.
  MEM_ROOT memory;
  init_alloc_root(PSI_NOT_INSTRUMENTED, &memory, 1024, 0, MYF(0));
  Query_arena arena(&memory, Query_arena::STMT_CONVENTIONAL_EXECUTION);
  Query_arena backup;
  thd->set_n_backup_active_arena(&arena, &backup);
  Dummy_error_handler silence;
  thd->push_internal_handler(&silence);
  thd->lex->sql_command = SQLCOM_SELECT;
  thd->lex->query_tables_own_last = nullptr;
  name_table(thd, list_, database_, name_, TL_READ);
  MDL_REQUEST_INIT(&list_.mdl_request, MDL_key::TABLE, database_.c_str(), name_.c_str(), MDL_SHARED_READ, MDL_EXPLICIT);
  const ulong wait = std::exchange(thd->variables.lock_wait_timeout, 0);
  Open_table_context context(thd, open_flags_without_waiting);
  const bool failed = open_table(thd, &list_, &context);
  thd->variables.lock_wait_timeout = wait;
  ticket_ = list_.mdl_request.ticket;
  thd->pop_internal_handler();
  thd->clear_error(true);
  thd->restore_active_arena(&arena, &backup);
  free_root(&memory, MYF(0));
  if (failed || list_.table == nullptr || ticket_ == nullptr) return false;
  list_.table->pos_in_table_list = &list_;
  list_.table->reginfo.lock_type = TL_READ;
  return list_.table->s->get_table_ref_version() == version;
}

KeptTable::~KeptTable() {
  if (list_.table != nullptr) {
    TABLE **at = &home_->open_tables;
    while (*at != list_.table) at = &(*at)->next;
    close_thread_table(home_, at);
  }
  if (ticket_ != nullptr) home_->mdl_context.release_lock(ticket_);
}

void ReadTables::EndAtHome::operator()(KeptTable *table) const {
  const AtHome at_home(home);
  delete table;
}

KeptTable *ReadTables::find(uint64_t form, const TableNames &names, uint64_t version, uint64_t now_us) {
  THD *const home = home_.thd();
  if (home == nullptr) return nullptr;
  const AnyContext context;
  const decltype(kept_)::Key key{.form = form, .context = context};
  if (KeptTable *const table = kept_.find(key, version, now_us); table != nullptr) return table;
  if (!kept_.admits()) return nullptr;
  try {
    kept_.make_room();
    Held table(new KeptTable(home, names), EndAtHome{home});
    const AtHome at_home(home);
    return table->open(version) ? kept_.add(key, version, now_us, std::move(table)) : nullptr;
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

void ReadTables::close_wanted_ones(uint64_t now_us) {
  looked_us_ = now_us;
  kept_.drop_unwanted();
}

int ReadTables::rest(uint64_t now_us) {
  if (kept_.empty()) return 0;
  close_wanted_ones(now_us);
  kept_.drop_old(now_us);
  return kept_.empty() ? 0 : look_asleep_ms;
}

}  // namespace postern::mariadb
