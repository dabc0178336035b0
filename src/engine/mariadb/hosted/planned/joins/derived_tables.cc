#include "engine/mariadb/hosted/planned/forms/server.h"

#include <utility>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/planned/joins/derived_tables.h"

namespace postern::mariadb {
namespace {

void mark(SELECT_LEX &select) {
  for (SELECT_LEX_UNIT *unit = select.first_inner_unit(); unit != nullptr; unit = unit->next_unit()) {
    if (unit->item != nullptr) continue;
    SELECT_LEX &inner = *unit->first_select();
    inner.uncacheable |= select.uncacheable;
    inner.options |= SELECT_NO_JOIN_CACHE;
    // With more the server would fill it itself.
    unit->uncacheable |= UNCACHEABLE_EXPLAIN;
    mark(inner);
  }
}

}  // namespace
bool DerivedTables::prepare(LEX &lex) {
  if (!lex.derived_tables) return true;
  mark(*lex.first_select_lex());
  return !mysql_handle_derived(&lex, DT_INIT | DT_PREPARE);
}

const char *DerivedTables::note(SELECT_LEX &select, ScratchTables &scratch) {
  for (SELECT_LEX_UNIT *unit = select.first_inner_unit(); unit != nullptr; unit = unit->next_unit()) {
    if (unit->item != nullptr) continue;
    TABLE_LIST *const list = unit->derived;
    JOIN *const join = unit->first_select()->join;
    if (unit->first_select()->first_inner_unit() != nullptr) return "a derived table in another one";
    if (list == nullptr || list->table == nullptr || join == nullptr || !list->is_materialized_derived() ||
        list->field_translation != nullptr || list->fill_me || unit->executed)
      return "a derived table that is not known to be repeatable";
    if (!ScratchTables::may_keep(*list->table)) return "a derived table that is kept on the disk";
    all_.push_back({.list = list, .unit = unit, .join = join});
    scratch.note_sums(*join);
  }
  return nullptr;
}

void DerivedTables::give_to(THD *thd) {
  for (TABLE *table = tables_; table != nullptr; table = table->next) table->in_use = thd;
  for (const DerivedTable &one : all_) {
    one.unit->thd = one.join->thd = thd;
    one.list->derived_result->set_thd(thd);
  }
}

/// In the order of the text: none depends on another.
bool DerivedTables::fill(THD *thd, LEX &lex, bool again) const {
  SELECT_LEX *const around = lex.current_select;
  for (const DerivedTable &one : all_) {
    SELECT_LEX_UNIT &unit = *one.unit;
    lex.current_select = unit.first_select();
    if (again ? one.join->reinit() != 0 : mysql_handle_single_derived(&lex, one.list, DT_CREATE)) return false;
    unit.set_limit(unit.global_parameters());
    one.join->do_send_rows = unit.lim.get_select_limit() > 0;
    if (!compat::execute(*one.join) || thd->is_error() || thd->killed != NOT_KILLED ||
        one.list->derived_result->flush())
      return false;
    unit.executed = true;
  }
  lex.current_select = around;
  return true;
}

bool DerivedTables::empty() const {
  bool emptied = true;
  for (const DerivedTable &one : all_) emptied &= one.list->table->file->ha_delete_all_rows() == 0;
  return emptied;
}

void DerivedTables::free(THD *home) {
  while (tables_ != nullptr) free_tmp_table(home, std::exchange(tables_, tables_->next));
}

}  // namespace postern::mariadb
