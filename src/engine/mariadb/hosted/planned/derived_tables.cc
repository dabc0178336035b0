#include "engine/mariadb/hosted/planned/server.h"

#include <utility>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/planned/join_plan.h"

namespace postern::mariadb {
namespace {

/// The server keeps a sum's aggregator for distinct values, and its table, in private members.
struct ItsAggregator : Item_sum {
  static Aggregator *of(Item_sum &sum) { return sum.*(&ItsAggregator::aggr); }
};

struct ItsList : Item_func_group_concat {
  static TABLE *table_of(Item_sum &sum) { return static_cast<Item_func_group_concat &>(sum).*(&ItsList::table); }
};

template <auto Member>
struct Reveal {
  friend TABLE *&table_of(Aggregator_distinct &aggregator) { return aggregator.*Member; }
};
TABLE *&table_of(Aggregator_distinct &aggregator);
template struct Reveal<&Aggregator_distinct::table>;

}  // namespace

/// Called once its tables are open: resolves each derived table, marked as one that may be executed again.
bool JoinPlan::prepare_derived(SELECT_LEX &select) {
  if (!lex_.derived_tables) return true;
  mark_derived(select);
  return !mysql_handle_derived(&lex_, DT_INIT | DT_PREPARE);
}

void JoinPlan::mark_derived(SELECT_LEX &select) {
  for (SELECT_LEX_UNIT *unit = select.first_inner_unit(); unit != nullptr; unit = unit->next_unit()) {
    if (unit->item != nullptr) continue;
    SELECT_LEX &inner = *unit->first_select();
    inner.uncacheable |= select.uncacheable;
    inner.options |= SELECT_NO_JOIN_CACHE;
    // With more the server would fill it itself.
    unit->uncacheable |= UNCACHEABLE_EXPLAIN;
    mark_derived(inner);
  }
}

/// Notes the derived tables that the optimizer has not merged. nullptr: they may be executed; otherwise the reason why
/// not.
const char *JoinPlan::note_derived(SELECT_LEX &select) {
  for (const JOIN *const join : joins_) note_distinct(*join);
  for (SELECT_LEX_UNIT *unit = select.first_inner_unit(); unit != nullptr; unit = unit->next_unit()) {
    if (unit->item != nullptr) continue;
    TABLE_LIST *const list = unit->derived;
    JOIN *const join = unit->first_select()->join;
    if (unit->first_select()->first_inner_unit() != nullptr) return "a derived table in another one";
    if (list == nullptr || list->table == nullptr || join == nullptr || !list->is_materialized_derived() ||
        list->field_translation != nullptr || list->fill_me || unit->executed)
      return "a derived table that is not known to be repeatable";
    if (!may_keep_scratch(*list->table)) return "a derived table that is kept on the disk";
    derived_.push_back({.list = list, .unit = unit, .join = join});
    note_distinct(*join);
  }
  return nullptr;
}

void JoinPlan::note_distinct(const JOIN &join) {
  if (join.sum_funcs == nullptr) return;
  for (Item_sum **one = join.sum_funcs; *one != nullptr; ++one) {
    if ((*one)->sum_func() == Item_sum::GROUP_CONCAT_FUNC) {
      distinct_.push_back({.count = *one, .table = ItsList::table_of(**one)});
      continue;
    }
    Aggregator *const aggregator = ItsAggregator::of(**one);
    if (aggregator == nullptr || aggregator->Aggrtype() != Aggregator::DISTINCT_AGGREGATOR) continue;
    distinct_.push_back({.count = *one, .table = table_of(static_cast<Aggregator_distinct &>(*aggregator))});
  }
}

void JoinPlan::give_derived_to(THD *thd) {
  for (TABLE *table = derived_tables_; table != nullptr; table = table->next) table->in_use = thd;
  for (const Derived &one : derived_) {
    one.unit->thd = one.join->thd = thd;
    one.list->derived_result->set_thd(thd);
  }
  for (const Distinct &one : distinct_)
    if (one.table != nullptr) one.table->in_use = thd;
}

/// In the order of the text: none depends on another. False: an error is set, or it was interrupted.
bool JoinPlan::fill_derived(THD *thd) {
  SELECT_LEX *const around = lex_.current_select;
  for (const Derived &one : derived_) {
    SELECT_LEX_UNIT &unit = *one.unit;
    lex_.current_select = unit.first_select();
    if (executed_ ? one.join->reinit() != 0 : mysql_handle_single_derived(&lex_, one.list, DT_CREATE)) return false;
    unit.set_limit(unit.global_parameters());
    one.join->do_send_rows = unit.lim.get_select_limit() > 0;
    if (!compat::execute(*one.join) || thd->is_error() || thd->killed != NOT_KILLED ||
        one.list->derived_result->flush())
      return false;
    unit.executed = true;
  }
  lex_.current_select = around;
  return true;
}

void JoinPlan::empty_derived() {
  for (const Derived &one : derived_)
    if (one.list->table->file->ha_delete_all_rows() != 0) spent_ = true;
}

/// When nothing refers to them any more.
void JoinPlan::free_derived() {
  while (derived_tables_ != nullptr) free_tmp_table(home_, std::exchange(derived_tables_, derived_tables_->next));
}

}  // namespace postern::mariadb
