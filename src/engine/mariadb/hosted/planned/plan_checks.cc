#include "engine/mariadb/hosted/planned/server.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/mariadb/hosted/planned/join_plan.h"

namespace postern::mariadb {
namespace {

template <class Look>
bool each_subquery(SELECT_LEX &select, Look look) {
  for (SELECT_LEX_UNIT *unit = select.first_inner_unit(); unit != nullptr; unit = unit->next_unit())
    if (!look(*unit)) return false;
  return true;
}

/// Whether conditions have values for the whole of another unique key, too: the server may read by that.
bool has_other_key(const JOIN_TAB &tab) {
  const TABLE &table = *tab.table;
  std::vector<key_part_map> found(table.s->keys);
  for (const KEYUSE *use = tab.keyuse; use != nullptr && use->table == &table; ++use)
    if (use->key < found.size()) found[use->key] |= key_part_map{1} << use->keypart;
  for (uint i = 0; i < found.size(); ++i) {
    const KEY &key = table.key_info[i];
    const key_part_map whole = make_prev_keypart_map(key.user_defined_key_parts);
    if (i != table.s->primary_key && (key.flags & HA_NOSAME) != 0 && (found[i] & whole) == whole) return true;
  }
  return false;
}

/// Later series may leave a whole UNION to a storage engine; InnoDB takes none.
template <class Unit>
bool is_left_to_engine(const Unit &unit) {
  if constexpr (requires { unit.pushdown_unit; }) return unit.pushdown_unit != nullptr;
  return false;
}

}  // namespace

/// Called before anything is resolved. Makes every subquery correlated for the server, so that it is never executed
/// only once.
void JoinPlan::depend_subqueries(SELECT_LEX &select) {
  each_subquery(select, [](SELECT_LEX_UNIT &unit) {
    if (unit.item == nullptr) return true;  // a derived table's
    unit.uncacheable |= UNCACHEABLE_DEPENDENT_GENERATED;
    unit.first_select()->uncacheable |= UNCACHEABLE_DEPENDENT_GENERATED;
    depend_subqueries(*unit.first_select());
    return true;
  });
}

/// Called once it is resolved. An uncorrelated subquery is a constant in a comparison, unless it is correlated with an
/// outer level.
bool JoinPlan::note_dependence(SELECT_LEX &select) {
  THD *const thd = home_;
  const bool noted = each_subquery(select, [this, thd](SELECT_LEX_UNIT &unit) {
    if (unit.item == nullptr) return true;
    // The innermost first: those around depend on what depends on it.
    if (!note_dependence(*unit.first_select())) return false;
    Item_subselect &item = *unit.item;
    item.is_correlated = true;
    if (item.upper_refs.elements != 0) return true;
    auto *const outside = new (thd->mem_root) Item_subselect::Ref_to_outside;
    if (outside == nullptr) return false;
    outside->select = nullptr;
    outside->item = new (thd->mem_root) Item_int(thd, 0);
    return outside->item != nullptr && !item.upper_refs.push_back(outside, thd->mem_root);
  });
  if (noted && select.first_inner_unit() != nullptr) select.update_used_tables();
  return noted;
}

/// Notes the subqueries that the optimizer has left. False: one has a kind that is not executed here.
bool JoinPlan::note_subqueries(SELECT_LEX &select) {
  return each_subquery(select, [this](SELECT_LEX_UNIT &unit) {
    if (unit.item == nullptr) return true;
    SELECT_LEX *const inner = unit.first_select();
    if (unit.is_unit_op() || inner->join == nullptr || !note_subqueries(*inner)) return false;
    Item_subselect &item = *unit.item;
    // The server clears this flag, and would then cache the result of NULL IN (...).
    item.is_correlated = true;
    switch (item.engine->engine_type()) {
      case subselect_engine::SINGLE_SELECT_ENGINE:
      case subselect_engine::UNIQUESUBQUERY_ENGINE:
      case subselect_engine::INDEXSUBQUERY_ENGINE: break;
      default: return false;
    }
    subqueries_.push_back({.item = &item, .unit = &unit, .join = inner->join});
    note_distinct(*inner->join);
    make_sort_keys(*inner->join);
    return !item.const_item();
  });
}

/// Whether each execution finds the rows to sort by itself, and nothing is left of the sort.
bool JoinPlan::sorts_anew(const JOIN_TAB &tab) {
  const SQL_SELECT *const select = tab.filesort->select;
  return tab.filesort->sort_keys != nullptr && tab.quick == nullptr && (select == nullptr || select->quick == nullptr);
}

/// Whether the condition is false for any values.
bool JoinPlan::is_never_true(const JOIN &join) {
  return std::strcmp(join.zero_result_cause, "Impossible WHERE") == 0;
}

/// MIN and MAX, for any LIMIT.
bool JoinPlan::is_found_by_index(const JOIN &join) {
  if (join.zero_result_cause == nullptr) return false;
  const std::string_view cause = join.zero_result_cause;
  return cause == "Select tables optimized away" || cause == "No matching min/max row";
}

/// Rows are locked exactly as the server locks them only if it reads one row of each table by its whole primary key,
/// whatever the values. The server does that before any other comparison, in an order of its own, so it is true for
/// executions that find all rows (outcome()).
const char *JoinPlan::refusal_of_locks() const {
  constexpr const char *otherwise = "rows are locked, and not all of them are found by whole primary keys alone";
  JOIN &join = *joins_[0];
  if (join.zero_result_cause != nullptr) return otherwise;
  for (JOIN_TAB *tab = first_linear_tab(&join, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(&join, tab, WITH_BUSH_ROOTS))
    if (tab->aggr != nullptr || tab->filesort != nullptr || tab->type != JT_EQ_REF ||
        tab->ref.key != static_cast<int>(tab->table->s->primary_key) || has_other_key(*tab))
      return otherwise;
  return nullptr;
}

/// Refuses parts that a plan for several executions must not have.
const char *JoinPlan::refusal() const {
  for (const Subquery &one : subqueries_)
    if (const char *const why = refusal_of(one); why != nullptr) return why;
  for (const Derived &one : derived_) {
    if (one.join->zero_result_cause != nullptr) return "a derived table that the server knows before it reads a row";
    if (const char *const why = refusal_of(*one.join); why != nullptr) return why;
  }
  if (is_left_to_engine(lex_.unit)) return "a part that the storage engine does";
  if (keeps_rows() && lex_.unit.table->s->db_type() != heap_hton) return "a UNION that is kept on the disk";
  for (const JOIN *const join : joins_)
    if (const char *const why = refusal_of_whole(*join); why != nullptr) return why;
  return lock_ == FormLock::none ? nullptr : refusal_of_locks();
}

const char *JoinPlan::refusal_of_whole(const JOIN &join) const {
  if (join.zero_result_cause == nullptr) return refusal_of(join);
  const bool refuses = is_found_by_index(join) || (!varies() && !is_never_true(join));
  return refuses ? "a result that the server knows before it reads a row" : nullptr;
}

const char *JoinPlan::refusal_of(const JOIN &join) {
  // Tables that the result does not depend on are constant, and are not read.
  if (join.tables_list == nullptr || join.const_table_map != join.eliminated_tables || join.table_count == 0 ||
      join.const_tables == join.table_count || join.join_tab == nullptr)
    return "a row that is read where it is planned";
  if (join.pushdown_query != nullptr || join.procedure != nullptr) return "a part that the storage engine does";
  if (weeds_out_on_disk(join)) return "rowids that are kept on the disk";
  auto *const tabs = const_cast<JOIN *>(&join);
  for (JOIN_TAB *tab = first_linear_tab(tabs, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(tabs, tab, WITH_BUSH_ROOTS)) {
    if (tab->aggr != nullptr) {
      if (!may_keep_scratch(*tab->table)) return "a temporary table that is kept on the disk";
      continue;
    }
    if (const char *const why = refusal_of(*tab); why != nullptr) return why;
  }
  return nullptr;
}

/// The server makes them in the first execution of a subquery, which may come late, and keeps them.
void JoinPlan::make_sort_keys(JOIN &join) const {
  if (join.zero_result_cause != nullptr || join.join_tab == nullptr) return;
  for (JOIN_TAB *tab = first_linear_tab(&join, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(&join, tab, WITH_BUSH_ROOTS))
    if (tab->filesort != nullptr && tab->aggr == nullptr && tab->table != nullptr)
      tab->filesort->make_sortorder(home_, &join, tab->table->map);
}

/// Its first execution must not make objects that the others need, such as a range that it hands to a sort.
const char *JoinPlan::refusal_of(const Subquery &subquery) {
  JOIN *const join = subquery.join;
  if (join->zero_result_cause != nullptr) return "a subquery whose result the server knows before it reads a row";
  if (const char *const why = refusal_of(*join); why != nullptr) return why;
  for (const JOIN_TAB *tab = first_linear_tab(join, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(join, const_cast<JOIN_TAB *>(tab), WITH_BUSH_ROOTS))
    if (tab->aggr != nullptr || (tab->filesort != nullptr && !sorts_anew(*tab)))
      return "a subquery that keeps rows, or sorts those of a range";
  return nullptr;
}

const char *JoinPlan::refusal_of(const JOIN_TAB &tab) {
  switch (tab.type) {
    case JT_EQ_REF:
    case JT_REF:
    case JT_REF_OR_NULL:
    case JT_RANGE:
    case JT_NEXT:
    case JT_UNIQUE_SUBQUERY:
    case JT_INDEX_SUBQUERY:
    case JT_ALL: break;
    default: return "a way to find rows that is not known to be repeatable";
  }
  if (tab.table == nullptr || tab.bush_children != nullptr || tab.bush_root_tab != nullptr)
    return "rows that are kept for the whole statement";
  if (tab.rowid_filter != nullptr || tab.range_rowid_filter_info != nullptr) return "a filter of rowids";
  if (tab.cache != nullptr) return "a join buffer";
  if (tab.use_quick == 2) return "a range that is looked for with each row";
  if (tab.is_split_derived) return "a derived table that is filled for each row";
  if (tab.loosescan_match_tab != nullptr) return "a semi-join that skips rows of an index";
  for (QUICK_SELECT_I *const quick :
       {tab.quick, tab.select != nullptr ? tab.select->quick : nullptr,
        tab.filesort != nullptr && tab.filesort->select != nullptr ? tab.filesort->select->quick : nullptr})
    if (quick != nullptr && quick->get_type() != QUICK_SELECT_I::QS_TYPE_RANGE &&
        quick->get_type() != QUICK_SELECT_I::QS_TYPE_RANGE_DESC)
      return "several ranges in one";
  return nullptr;
}

}  // namespace postern::mariadb
