#include "engine/mariadb/hosted/planned/forms/server.h"

#include <algorithm>

#include "engine/mariadb/hosted/planned/forms/known_functions.h"
#include "engine/mariadb/hosted/planned/joins/session_items.h"
#include "engine/mariadb/hosted/planned/joins/varying_values.h"
#include "engine/mariadb/hosted/reads/exact_value.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"
#include "engine/sql/plans/plan_values.h"

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

bool store_decimal_exactly(Field &field, Bytes digits) {
  my_decimal number;
  if (str2my_decimal(0, digits.data(), digits.size(), &my_charset_latin1, &number) != E_DEC_OK) return false;
  const auto &column = static_cast<const Field_new_decimal &>(field);
  if (number.frac > static_cast<int>(column.dec) || number.intg > static_cast<int>(column.precision - column.dec) ||
      (field.is_unsigned() && number.sign()))
    return false;
  field.set_notnull();
  return field.store_decimal(&number) == 0;
}

uint64_t bits_of(const Value &number) {
  return number.kind() == Value::Kind::natural ? number.natural() : static_cast<uint64_t>(number.integer());
}

}  // namespace

bool VaryingValues::put_into(LEX &lex, const ToBePlanned &what) {
  List_iterator_fast<Item_param> params(lex.param_list);
  for (const ValuePlace &place : what.places) {
    places_.push_back(params++);
    ValueItem *const value = ValueItem::make(home_, place, what.values[values_.size()]);
    if (value == nullptr) return false;
    values_.push_back({.value = value, .use = place.use});
  }
  for (SELECT_LEX *one = lex.unit.first_select(); one != nullptr; one = one->next_select())
    if (!put_in_select(*one)) return false;
  put_in_limits(lex);
  lex.param_list.empty();
  return true;
}

bool VaryingValues::put_in_select(SELECT_LEX &select) {
  if (select.where != nullptr && (select.where = put_in(select.where)) == nullptr) return false;
  return put_in_joined(*select.join_list) && put_in_answer(select);
}

/// In the select list, the order and the groups only session items vary.
bool VaryingValues::put_in_answer(SELECT_LEX &select) {
  List_iterator<Item> all(select.item_list);
  while (Item *one = all++) {
    Item *const other = put_in(one);
    if (other == nullptr) return false;
    if (other != one) all.replace(other);
  }
  for (const SQL_I_List<ORDER> *const list : {&select.order_list, &select.group_list})
    for (ORDER *one = list->first; one != nullptr; one = one->next)
      if ((*one->item = put_in(*one->item)) == nullptr) return false;
  return true;
}

/// In a condition as the parser has made it. nullptr: there is no memory.
Item *VaryingValues::put_in(Item *item) {
  const auto at = std::ranges::find(places_, item);
  if (at != places_.end()) return values_[static_cast<size_t>(at - places_.begin())].value->item();
  if (item->type() == Item::COND_ITEM) {
    List_iterator<Item> all(*static_cast<Item_cond *>(item)->argument_list());
    while (Item *one = all++) {
      Item *const other = put_in(one);
      if (other == nullptr) return nullptr;
      if (other != one) all.replace(other);
    }
  } else if (item->type() == Item::FUNC_ITEM) {
    auto &function = *static_cast<Item_func *>(item);
    if (session_function(function) != SessionFunction::none) return note_session(make_session_item(home_, function));
    for (uint i = 0; i < function.argument_count(); ++i)
      if ((function.arguments()[i] = put_in(function.arguments()[i])) == nullptr) return nullptr;
    return make_ranged_of(function);
  } else if (item->type() == Item::ROW_ITEM) {
    if (!put_in_row(*item)) return nullptr;
  } else if (item->type() == Item::SUBSELECT_ITEM) {
    if (!put_in_select(*static_cast<Item_subselect *>(item)->get_select_lex())) return nullptr;
  }
  return item;
}

bool VaryingValues::put_in_row(Item &row) {
  for (uint i = 0; i < row.cols(); ++i) {
    Item *&one = *row.addr(i);
    if ((one = put_in(one)) == nullptr) return false;
  }
  return true;
}

Item *VaryingValues::note_session(ValueItem *value) {
  if (value == nullptr) return nullptr;
  session_.push_back(value);
  return value->item();
}

/// Whether it is calculated of values in sums, the session's values and constants alone. `any`: set if there is one
/// that is no constant.
bool VaryingValues::is_calculated(Item *item, bool &any) {
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
Item *VaryingValues::make_ranged_of(Item_func &function) {
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

void VaryingValues::put_in_limits(LEX &lex) {
  auto &limits = lex.first_select_lex()->limit_params;
  for (Item **const one : {&limits.select_limit, &limits.offset_limit})
    if (*one != nullptr) *one = put_in(*one);
}

bool VaryingValues::put_in_joined(List<TABLE_LIST> &joined) {
  List_iterator_fast<TABLE_LIST> tables(joined);
  while (TABLE_LIST *table = tables++) {
    if (table->on_expr != nullptr && (table->on_expr = put_in(table->on_expr)) == nullptr) return false;
    if (table->derived != nullptr && !put_in_select(*table->derived->first_select())) return false;
    if (table->nested_join != nullptr && !put_in_joined(table->nested_join->join_list)) return false;
  }
  return true;
}

VaryingValues::Compared *VaryingValues::value_of(const Item *item) {
  const auto at = std::ranges::find(values_, item, [](const Compared &one) { return one.value->item(); });
  return at != values_.end() ? &*at : nullptr;
}

bool VaryingValues::note_rows(Item_func &function) {
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
bool VaryingValues::note_comparison(Item_func &function) {
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

bool VaryingValues::find_columns() {
  return std::ranges::all_of(comparisons_, [this](Item_func *one) { return note_comparison(*one); }) &&
         std::ranges::all_of(values_, [](const Compared &one) {
           return one.field != nullptr || one.use == ValueUse::limit || one.use == ValueUse::offset ||
                  one.use == ValueUse::sum;
         });
}

bool VaryingValues::limit_varies() const {
  return std::ranges::any_of(values_, [](const Compared &one) { return one.use == ValueUse::limit; });
}

/// Not if they are compared with another, too: the field has one at a time.
std::vector<const Field *> VaryingValues::equal_columns(Item *condition) const {
  std::vector<const Field *> columns;
  const auto note = [&](const Item *item) {
    const auto *const function = static_cast<const Item_func *>(item);
    if (std::ranges::find(comparisons_, function) == comparisons_.end() || function->functype() != Item_func::EQ_FUNC)
      return;
    for (uint i = 0; i < function->argument_count(); ++i) {
      const Item *const column = function->arguments()[i]->real_item();
      if (column->type() != Item::FIELD_ITEM) continue;
      const Field *const field = static_cast<const Item_field *>(column)->field;
      if (std::ranges::count(values_, field, &Compared::field) == 1) columns.push_back(field);
    }
  };
  if (condition == nullptr) return columns;
  if (condition->type() == Item::FUNC_ITEM) {
    note(condition);
  } else if (condition->type() == Item::COND_ITEM &&
             static_cast<Item_cond *>(condition)->functype() == Item_func::COND_AND_FUNC) {
    List_iterator_fast<Item> each(*static_cast<Item_cond *>(condition)->argument_list());
    while (const Item *const one = each++)
      if (one->type() == Item::FUNC_ITEM) note(one);
  }
  return columns;
}

bool VaryingValues::take(THD *thd, std::span<const Value> values) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Compared &compared = values_[i];
    if (compared.use == ValueUse::sum) compared.value->take_number(bits_of(values[i]));
    if (compared.field == nullptr) continue;
    const bool stored = sql::is_decimal(values[i]) && compared.exact == Exact::decimal
                            ? store_decimal_exactly(*compared.field, values[i].bytes())
                            : store_exactly(thd, *compared.field, compared.exact, values[i]);
    if (!stored) return false;
    compared.value->take(thd, values[i], *compared.field);
  }
  for (ValueList *const list : lists_) list->sort_values();
  return true;
}

bool VaryingValues::take_limits(std::span<const Value> values, bool as_class) {
  uint64_t rows = 0;
  uint64_t offset = 0;
  ValueItem *limit_item = nullptr;
  ValueItem *offset_item = nullptr;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].use != ValueUse::limit && values_[i].use != ValueUse::offset) continue;
    const bool is_limit = values_[i].use == ValueUse::limit;
    if (!sql::is_row_count(values[i], is_limit ? rows : offset)) return false;
    (is_limit ? limit_item : offset_item) = values_[i].value;
  }
  if (limit_item == nullptr) return true;
  limit_item->take_number(as_class ? sql::limit_class(rows + offset) : rows);
  if (offset_item != nullptr) offset_item->take_number(as_class ? 0 : offset);
  for (Filesort *const sort : limited_sorts_) sort->limit = rows + offset;
  return true;
}

/// The server's optimizer evaluates constants, and fails or warns whether or not a row is compared with them.
bool VaryingValues::calculate(THD *thd) const {
  for (ValueItem *const one : calculated_) one->item()->update_null_value();
  for (const auto &[function, at] : unequal_) function->arguments()[at]->update_null_value();
  return !thd->is_error();
}

}  // namespace postern::mariadb
