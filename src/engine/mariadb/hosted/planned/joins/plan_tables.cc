#include "engine/mariadb/hosted/planned/forms/server.h"

#include <algorithm>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/planned/forms/form_tables.h"
#include "engine/mariadb/hosted/planned/forms/form_views.h"
#include "engine/mariadb/hosted/planned/joins/plan_tables.h"
#include "engine/mariadb/hosted/reads/kept_table.h"

namespace postern::mariadb {

bool PlanTables::open(LEX &lex, const ToBePlanned &what) {
  THD *const thd = home_;
  std::vector<const TABLE *> opened;
  std::vector<uint64_t> views;
  // What is open or locked has to be noted, or nobody would give it back.
  opened.reserve(what.tables.size());
  views.reserve(what.views.size());
  tables_.reserve(what.tables.size());
  tickets_.reserve(what.tables.size() + what.views.size());
  for (TABLE_LIST *list = lex.query_tables; list != nullptr; list = list->next_global) {
    if (list->derived != nullptr) continue;
    if (opened.size() == what.tables.size()) return false;
    list->required_type = TABLE_TYPE_NORMAL;
    list->open_type = OT_BASE_ONLY;
    list->lock_type = TL_READ;
    MDL_REQUEST_INIT(&list->mdl_request, MDL_key::TABLE, list->db.str, list->table_name.str, MDL_SHARED_READ,
                     MDL_EXPLICIT);
    Open_table_context context(thd, open_flags_without_waiting);
    const bool failed = open_table(thd, list, &context) || list->table == nullptr;
    if (list->mdl_request.ticket != nullptr) tickets_.push_back(list->mdl_request.ticket);
    if (failed) return false;
    // The session's rights are checked for each execution.
    list->grant.privilege = list->table->grant.privilege = SELECT_ACL;
    list->table->pos_in_table_list = list;
    list->table->reginfo.lock_type = TL_READ;
    compat::take_own_statistics(*list->table);
    tables_.push_back(list->table);
    opened.push_back(list->table);
    if (may_be_kept(*list->table)) return false;
  }
  for (const FormView &one : what.views) {
    MDL_ticket *ticket = nullptr;
    views.push_back(version_of_view(thd, one, true, ticket));
    if (ticket != nullptr) tickets_.push_back(ticket);
  }
  return version_of_tables(opened, views) == what.version && lock(thd);
}

void PlanTables::close() {
  for (TABLE *const table : tables_) {
    if (table->file->keyread_enabled()) table->file->ha_end_keyread();
    TABLE **at = &home_->open_tables;
    while (*at != table) at = &(*at)->next;
    close_thread_table(home_, at);
  }
  for (MDL_ticket *const ticket : tickets_) home_->mdl_context.release_lock(ticket);
}

void PlanTables::note_figures() {
  for (const TABLE *const table : tables_) figures_.emplace_back(*table);
}

bool PlanTables::outdated() const {
  return std::ranges::any_of(tables_, [](TABLE *table) { return is_outdated(*table); });
}

bool PlanTables::wanted_by_others() const {
  return std::ranges::any_of(tickets_, [](MDL_ticket *ticket) { return ticket->has_pending_conflicting_lock(); });
}

bool PlanTables::figures_are_alike() const {
  return std::ranges::equal(tables_, figures_,
                            [](TABLE *table, const TableFigures &figures) { return figures.are_alike(*table); });
}

bool PlanTables::hold(THD *thd, FormLock lock) const {
  const bool updates = lock == FormLock::update;
  if (!updates && !thd->in_multi_stmt_transaction_mode()) return true;
  MDL_request request;
  if (updates) {
    MDL_REQUEST_INIT(&request, MDL_key::BACKUP, "", "", MDL_BACKUP_DML, MDL_STATEMENT);
    if (thd->mdl_context.try_acquire_lock(&request) || request.ticket == nullptr) return false;
  }
  const enum_mdl_type type = updates ? MDL_SHARED_WRITE : MDL_SHARED_READ;
  for (const MDL_ticket *const ticket : tickets_) {
    MDL_REQUEST_INIT_BY_KEY(&request, ticket->get_key(), type, MDL_TRANSACTION);
    if (thd->mdl_context.try_acquire_lock(&request) || request.ticket == nullptr) return false;
  }
  return true;
}

bool PlanTables::lock(THD *thd) {
  thd->lock = mysql_lock_tables(thd, tables_.data(), static_cast<uint>(tables_.size()), 0);
  return thd->lock != nullptr;
}

void PlanTables::unlock(THD *thd) {
  mysql_unlock_tables(thd, thd->lock);
  thd->lock = nullptr;
}

}  // namespace postern::mariadb
