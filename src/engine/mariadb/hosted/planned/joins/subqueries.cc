#include "engine/mariadb/hosted/planned/forms/server.h"

#include "engine/mariadb/hosted/planned/joins/subqueries.h"

namespace postern::mariadb {
namespace {

template <class Look>
bool each_subquery(SELECT_LEX &select, Look look) {
  for (SELECT_LEX_UNIT *unit = select.first_inner_unit(); unit != nullptr; unit = unit->next_unit())
    if (!look(*unit)) return false;
  return true;
}

/// The server keeps a subquery's THD in a private member.
struct ItsThd : Item_subselect {
  static void give(Item_subselect &item, THD *thd) { item.*(&ItsThd::thd) = thd; }
};

}  // namespace

void Subqueries::depend(SELECT_LEX &select) {
  each_subquery(select, [](SELECT_LEX_UNIT &unit) {
    if (unit.item == nullptr) return true;  // a derived table's
    unit.uncacheable |= UNCACHEABLE_DEPENDENT_GENERATED;
    unit.first_select()->uncacheable |= UNCACHEABLE_DEPENDENT_GENERATED;
    depend(*unit.first_select());
    return true;
  });
}

bool Subqueries::depend_on_outside(THD *home, SELECT_LEX &select) {
  const bool noted = each_subquery(select, [home](SELECT_LEX_UNIT &unit) {
    if (unit.item == nullptr) return true;
    // The innermost first: those around depend on what depends on it.
    if (!depend_on_outside(home, *unit.first_select())) return false;
    Item_subselect &item = *unit.item;
    item.is_correlated = true;
    if (item.upper_refs.elements != 0) return true;
    auto *const outside = new (home->mem_root) Item_subselect::Ref_to_outside;
    if (outside == nullptr) return false;
    outside->select = nullptr;
    outside->item = new (home->mem_root) Item_int(home, 0);
    return outside->item != nullptr && !item.upper_refs.push_back(outside, home->mem_root);
  });
  if (noted && select.first_inner_unit() != nullptr) select.update_used_tables();
  return noted;
}

bool Subqueries::note(THD *home, SELECT_LEX &select, ScratchTables &scratch) {
  return each_subquery(select, [&](SELECT_LEX_UNIT &unit) {
    if (unit.item == nullptr) return true;
    SELECT_LEX *const inner = unit.first_select();
    if (unit.is_unit_op() || inner->join == nullptr || !note(home, *inner, scratch)) return false;
    Item_subselect &item = *unit.item;
    // The optimizer clears these flags where the subquery names no outer column and no value. It would then be executed
    // once for a plan, and its JOIN be freed; NULL IN (...) would be cached.
    item.is_correlated = true;
    unit.uncacheable |= UNCACHEABLE_DEPENDENT_GENERATED;
    inner->uncacheable |= UNCACHEABLE_DEPENDENT_GENERATED;
    // Without this, the server's walks through expressions skip a correlated one that has been executed, and sorts
    // would not read outer columns that only it needs. From here on nothing else looks at these flags of the unit.
    unit.uncacheable |= UNCACHEABLE_EXPLAIN;
    switch (item.engine->engine_type()) {
      case subselect_engine::SINGLE_SELECT_ENGINE:
      case subselect_engine::UNIQUESUBQUERY_ENGINE:
      case subselect_engine::INDEXSUBQUERY_ENGINE: break;
      default: return false;
    }
    all_.push_back({.item = &item, .unit = &unit, .join = inner->join});
    scratch.note_sums(*inner->join);
    ScratchTables::make_sort_keys(home, *inner->join);
    return !item.const_item();
  });
}

void Subqueries::give_to(THD *thd) {
  for (const Subquery &one : all_) {
    ItsThd::give(*one.item, thd);
    one.item->engine->set_thd(thd);
    one.unit->thd = thd;
    one.join->thd = thd;
  }
}

}  // namespace postern::mariadb
