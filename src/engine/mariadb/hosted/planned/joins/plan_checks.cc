#include "engine/mariadb/hosted/planned/forms/server.h"

#include <cstring>
#include <string_view>
#include <vector>

#include "engine/mariadb/hosted/planned/joins/plan_checks.h"
#include "engine/mariadb/hosted/planned/joins/scratch_tables.h"

namespace postern::mariadb {
namespace {

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

const char *refusal_of(const JOIN_TAB &tab) {
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

/// Whether each execution finds the rows to sort by itself, and nothing is left of the sort.
bool sorts_anew(const JOIN_TAB &tab) {
  const SQL_SELECT *const select = tab.filesort->select;
  return tab.filesort->sort_keys != nullptr && tab.quick == nullptr && (select == nullptr || select->quick == nullptr);
}

/// Whether the server has read a MIN or MAX at an end of an index, and computes others of the SELECT from rows.
bool knows_a_sum(const JOIN &join) {
  List_iterator_fast<Item> all(const_cast<List<Item> &>(join.all_fields));
  while (const Item *const one = all++)
    if (one->type() == Item::SUM_FUNC_ITEM && one->const_item()) return true;
  return false;
}

/// Whether a temporary table gives the client another value than the expression itself: the bits of a BIT and not its
/// number, a FLOAT or DOUBLE of fixed decimals rounded to them, and a MIN or MAX with leading zeros.
bool changes_in_table(Item &item) {
  if (item.real_item()->type() == Item::FIELD_ITEM) return false;
  if (item.type() == Item::SUM_FUNC_ITEM) {
    const auto &sum = static_cast<const Item_sum &>(item);
    const Item *const of = sum.get_arg_count() != 0 ? const_cast<Item_sum &>(sum).get_arg(0)->real_item() : nullptr;
    if (of != nullptr && of->type() == Item::FIELD_ITEM &&
        (static_cast<const Item_field *>(of)->field->flags & ZEROFILL_FLAG) != 0)
      return true;
  }
  return item.field_type() == MYSQL_TYPE_BIT ||
         (item.result_type() == REAL_RESULT && item.decimals < FLOATING_POINT_DECIMALS);
}

/// Whether the server makes one depends on the values: it needs none for a single row that it finds by a key.
bool changes_in_table(const JOIN &join) {
  List_iterator_fast<Item> all(const_cast<List<Item> &>(join.all_fields));
  while (Item *const one = all++)
    if (changes_in_table(*one)) return true;
  return false;
}

}  // namespace

bool is_never_true(const JOIN &join) {
  return std::strcmp(join.zero_result_cause, "Impossible WHERE") == 0;
}

bool is_found_by_index(const JOIN &join) {
  if (join.zero_result_cause == nullptr) return false;
  const std::string_view cause = join.zero_result_cause;
  return cause == "Select tables optimized away" || cause == "No matching min/max row";
}

/// Rows are locked exactly as the server locks them only if it reads one row of each table by its whole primary key,
/// whatever the values. The server does that before any other comparison, in an order of its own, so it is true for
/// executions that find all rows (outcome()).
const char *refusal_of_locks(JOIN &join) {
  constexpr const char *otherwise = "rows are locked, and not all of them are found by whole primary keys alone";
  if (join.zero_result_cause != nullptr) return otherwise;
  for (JOIN_TAB *tab = first_linear_tab(&join, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(&join, tab, WITH_BUSH_ROOTS))
    if (tab->aggr != nullptr || tab->filesort != nullptr || tab->type != JT_EQ_REF ||
        tab->ref.key != static_cast<int>(tab->table->s->primary_key) || has_other_key(*tab))
      return otherwise;
  return nullptr;
}

const char *refusal_of_whole(const JOIN &join, bool varies) {
  if (join.zero_result_cause == nullptr) return refusal_of(join);
  const bool refuses = is_found_by_index(join) || (!varies && !is_never_true(join));
  return refuses ? "a result that the server knows before it reads a row" : nullptr;
}

const char *refusal_of(const JOIN &join) {
  if (knows_a_sum(join)) return "MIN or MAX, which the server finds at an end of an index";
  // Tables that the result does not depend on are constant, and are not read.
  if (join.tables_list == nullptr || join.const_table_map != join.eliminated_tables || join.table_count == 0 ||
      join.const_tables == join.table_count || join.join_tab == nullptr)
    return "a row that is read where it is planned";
  if (join.pushdown_query != nullptr || join.procedure != nullptr) return "a part that the storage engine does";
  if (ScratchTables::weeds_out_on_disk(join)) return "rowids that are kept on the disk";
  auto *const tabs = const_cast<JOIN *>(&join);
  for (JOIN_TAB *tab = first_linear_tab(tabs, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(tabs, tab, WITH_BUSH_ROOTS)) {
    if (tab->aggr != nullptr) {
      if (changes_in_table(join)) return "a value that changes where it is kept in a temporary table";
      if (!ScratchTables::may_keep(*tab->table)) return "a temporary table that is kept on the disk";
      continue;
    }
    if (const char *const why = refusal_of(*tab); why != nullptr) return why;
  }
  return nullptr;
}

/// Its first execution must not make objects that the others need, such as a range that it hands to a sort.
const char *refusal_of_subquery(JOIN *join) {
  if (join->zero_result_cause != nullptr) return "a subquery whose result the server knows before it reads a row";
  if (const char *const why = refusal_of(*join); why != nullptr) return why;
  for (const JOIN_TAB *tab = first_linear_tab(join, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(join, const_cast<JOIN_TAB *>(tab), WITH_BUSH_ROOTS))
    if (tab->aggr != nullptr || (tab->filesort != nullptr && !sorts_anew(*tab)))
      return "a subquery that keeps rows, or sorts those of a range";
  return nullptr;
}

}  // namespace postern::mariadb
