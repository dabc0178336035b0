#include "engine/mariadb/hosted/planned/server.h"

#include <algorithm>

#include "engine/mariadb/hosted/planned/join_plan.h"
#include "engine/mariadb/hosted/planned/session_items.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"

namespace postern::mariadb {
namespace {

bool is_compared_in_ranges(const Item_func &function) {
  switch (function.functype()) {
    case Item_func::EQ_FUNC:
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GT_FUNC:
    case Item_func::GE_FUNC:
    case Item_func::BETWEEN: return true;
    default: return false;
  }
}

bool is_unequal(const Item_func &function) {
  return function.functype() == Item_func::NE_FUNC || function.functype() == Item_func::EQUAL_FUNC;
}

}  // namespace

bool JoinPlan::put_values(const ToBePlanned &what) {
  List_iterator_fast<Item_param> params(lex_.param_list);
  for (const ValuePlace &place : what.places) {
    places_.push_back(params++);
    ValueItem *const value = ValueItem::make(home_, place, what.values[values_.size()]);
    if (value == nullptr) return false;
    values_.push_back({.value = value, .use = place.use});
  }
  for (SELECT_LEX *one = lex_.unit.first_select(); one != nullptr; one = one->next_select())
    if (!put_values_in_select(*one)) return false;
  put_limits();
  lex_.param_list.empty();
  return true;
}

bool JoinPlan::put_values_in_select(SELECT_LEX &select) {
  if (select.where != nullptr && (select.where = put_values_in(select.where)) == nullptr) return false;
  return put_values_in(*select.join_list) && put_values_in_answer(select);
}

/// In the select list, the order and the groups only session items vary.
bool JoinPlan::put_values_in_answer(SELECT_LEX &select) {
  List_iterator<Item> all(select.item_list);
  while (Item *one = all++) {
    Item *const other = put_values_in(one);
    if (other == nullptr) return false;
    if (other != one) all.replace(other);
  }
  for (const SQL_I_List<ORDER> *const list : {&select.order_list, &select.group_list})
    for (ORDER *one = list->first; one != nullptr; one = one->next)
      if ((*one->item = put_values_in(*one->item)) == nullptr) return false;
  return true;
}

/// In a condition as the parser has made it. nullptr: there is no memory.
Item *JoinPlan::put_values_in(Item *item) {
  const auto at = std::ranges::find(places_, item);
  if (at != places_.end()) return values_[static_cast<size_t>(at - places_.begin())].value->item();
  if (item->type() == Item::COND_ITEM) {
    List_iterator<Item> all(*static_cast<Item_cond *>(item)->argument_list());
    while (Item *one = all++) {
      Item *const other = put_values_in(one);
      if (other == nullptr) return nullptr;
      if (other != one) all.replace(other);
    }
  } else if (item->type() == Item::FUNC_ITEM) {
    auto &function = *static_cast<Item_func *>(item);
    if (session_function(function) != SessionFunction::none) return note_session(make_session_item(home_, function));
    for (uint i = 0; i < function.argument_count(); ++i)
      if ((function.arguments()[i] = put_values_in(function.arguments()[i])) == nullptr) return nullptr;
    return make_ranged_of(function);
  } else if (item->type() == Item::ROW_ITEM) {
    if (!put_values_in_row(*item)) return nullptr;
  } else if (item->type() == Item::SUBSELECT_ITEM) {
    if (!put_values_in_select(*static_cast<Item_subselect *>(item)->get_select_lex())) return nullptr;
  }
  return item;
}

bool JoinPlan::put_values_in_row(Item &row) {
  for (uint i = 0; i < row.cols(); ++i) {
    Item *&one = *row.addr(i);
    if ((one = put_values_in(one)) == nullptr) return false;
  }
  return true;
}

Item *JoinPlan::note_session(ValueItem *value) {
  if (value == nullptr) return nullptr;
  session_.push_back(value);
  return value->item();
}

/// Whether it is calculated of values in sums, the session's values and constants alone. `any`: set if there is one
/// that is no constant.
bool JoinPlan::is_calculated(Item *item, bool &any) {
  if (const Compared *const one = value_of(item); one != nullptr && one->use == ValueUse::sum) return any = true;
  if (item->type() == Item::CONST_ITEM) return true;
  if (item->type() != Item::FUNC_ITEM) return false;
  if (std::ranges::any_of(session_, [item](ValueItem *one) { return one->item() == item; })) return any = true;
  auto &function = *static_cast<Item_func *>(item);
  for (uint i = 0; i < function.argument_count(); ++i)
    if (!is_calculated(function.arguments()[i], any)) return false;
  return true;
}

/// The function itself, if none of its arguments is a value.
Item *JoinPlan::make_ranged_of(Item_func &function) {
  std::vector<ValueItem *> found;
  for (uint i = 0; i < function.argument_count(); ++i) {
    Item *&argument = function.arguments()[i];
    const bool is_row = argument->type() == Item::ROW_ITEM;
    for (uint at = 0; at < (is_row ? argument->cols() : 1); ++at)
      if (const Compared *const one = value_of(is_row ? argument->element_index(at) : argument);
          one != nullptr && one->use != ValueUse::sum)
        found.push_back(one->value);
    bool any = false;
    const bool in_ranges = is_compared_in_ranges(function);
    if ((!in_ranges && !is_unequal(function)) || !is_calculated(argument, any) || !any) continue;
    if (!in_ranges) {
      unequal_.push_back({&function, i});
      continue;
    }
    ValueItem *const value = make_session_value(home_, *argument);
    if (value == nullptr) return nullptr;
    argument = value->item();
    found.push_back(value);
    calculated_.push_back(value);
  }
  if (found.empty()) return &function;
  // The server compares row constructors column by column.
  const bool by_reference = ranges_of_ == RangesOf::all_but_equal || function.arguments()[0]->type() == Item::ROW_ITEM;
  if (function.functype() == Item_func::EQUAL_FUNC || (by_reference && function.functype() == Item_func::EQ_FUNC)) {
    comparisons_.push_back(&function);
    return &function;
  }
  comparisons_.push_back(nullptr);
  const size_t bytes = found.size() * sizeof found[0];
  auto *const kept = static_cast<ValueItem **>(home_->memdup(found.data(), bytes));
  if (kept == nullptr) return nullptr;
  ValueList *list = nullptr;
  Item *const ranged = make_ranged(home_, function, {kept, found.size()}, list);
  if (list != nullptr) lists_.push_back(list);
  comparisons_.back() = static_cast<Item_func *>(ranged);
  return ranged;
}

void JoinPlan::put_limits() {
  auto &limits = lex_.first_select_lex()->limit_params;
  for (Item **const one : {&limits.select_limit, &limits.offset_limit})
    if (*one != nullptr) *one = put_values_in(*one);
}

bool JoinPlan::put_values_in(List<TABLE_LIST> &joined) {
  List_iterator_fast<TABLE_LIST> tables(joined);
  while (TABLE_LIST *table = tables++) {
    if (table->on_expr != nullptr && (table->on_expr = put_values_in(table->on_expr)) == nullptr) return false;
    if (table->derived != nullptr && !put_values_in_select(*table->derived->first_select())) return false;
    if (table->nested_join != nullptr && !put_values_in(table->nested_join->join_list)) return false;
  }
  return true;
}

JoinPlan::Compared *JoinPlan::value_of(const Item *item) {
  const auto at = std::ranges::find(values_, item, [](const Compared &one) { return one.value->item(); });
  return at != values_.end() ? &*at : nullptr;
}

bool JoinPlan::note_rows(Item_func &function) {
  Item **const rows = function.arguments();
  for (uint row = 1; row < function.argument_count(); ++row) {
    for (uint at = 0; at < rows[0]->cols(); ++at) {
      Compared *const value = value_of(rows[row]->element_index(at));
      if (value == nullptr) continue;
      const Item *const column = rows[0]->element_index(at)->real_item();
      if (column->type() != Item::FIELD_ITEM) return false;
      value->field = static_cast<const Item_field *>(column)->field;
      if (!exactness(*value->field, value->exact)) return false;
    }
  }
  return true;
}

/// The column that values are compared with, as the server has found it.
bool JoinPlan::note_comparison(Item_func &function) {
  if (function.arguments()[0]->type() == Item::ROW_ITEM) return note_rows(function);
  Field *field = nullptr;
  bool any = false;
  for (uint i = 0; i < function.argument_count(); ++i) {
    Item *const one = function.arguments()[i];
    Item *const real = one->real_item();
    if (value_of(one) != nullptr) any = true;
    else if (real->type() == Item::FIELD_ITEM) field = static_cast<Item_field *>(real)->field;
  }
  if (!any) return true;
  Exact exact{};
  if (field == nullptr || !exactness(*field, exact)) return false;
  for (uint i = 0; i < function.argument_count(); ++i) {
    Compared *const value = value_of(function.arguments()[i]);
    if (value == nullptr) continue;
    value->field = field;
    value->exact = exact;
  }
  return true;
}

}  // namespace postern::mariadb
