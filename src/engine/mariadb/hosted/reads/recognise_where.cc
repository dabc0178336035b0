#include "engine/mariadb/basics/server.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/mariadb/hosted/reads/recogniser.h"

namespace postern::mariadb {

std::optional<WhyNot> Recogniser::add(FormTest test, Item *left, Item **values, uint count) {
  FormCondition condition;
  condition.test = test;
  if (!column(left, condition.column)) return WhyNot::condition;
  if (values_ + count > plan_values_max || form_.conditions.size() == conditions_max) return WhyNot::too_much;
  for (uint i = 0; i < count; ++i) {
    FormValue one;
    if (test == FormTest::like ? !value(values[i], one) : !any_value(values[i], one)) return WhyNot::value;
    condition.values.push_back(std::move(one));
  }
  form_.conditions.push_back(std::move(condition));
  return std::nullopt;
}

namespace {

/// `5 < c` as `c > 5`.
FormTest turned(FormTest test) {
  switch (test) {
    case FormTest::less: return FormTest::greater;
    case FormTest::at_most: return FormTest::at_least;
    case FormTest::greater: return FormTest::less;
    case FormTest::at_least: return FormTest::at_most;
    case FormTest::equal:
    case FormTest::in:
    case FormTest::tuple:
    case FormTest::unequal:
    case FormTest::like:
    case FormTest::null:
    case FormTest::not_null: break;
  }
  return test;
}

bool binary_test(Item_func::Functype type, FormTest &test) {
  switch (type) {
    case Item_func::EQ_FUNC: test = FormTest::equal; return true;
    case Item_func::NE_FUNC: test = FormTest::unequal; return true;
    case Item_func::LT_FUNC: test = FormTest::less; return true;
    case Item_func::LE_FUNC: test = FormTest::at_most; return true;
    case Item_func::GT_FUNC: test = FormTest::greater; return true;
    case Item_func::GE_FUNC: test = FormTest::at_least; return true;
    default: return false;
  }
}

}  // namespace

/// `flag` and `NOT flag`, which the server resolves as `flag <> 0` and `flag = 0`.
std::optional<WhyNot> Recogniser::add_truth(Item *flag, FormTest test) {
  FormCondition condition{.column = {}, .test = test, .values = {FormValue{.from = FormValue::From::integer}}};
  if (!column(flag, condition.column)) return WhyNot::name;
  if (form_.conditions.size() == conditions_max) return WhyNot::too_much;
  form_.conditions.push_back(std::move(condition));
  return std::nullopt;
}

/// What the server finds without a row, if that is certain. NULL is as good as false where rows are selected.
std::optional<bool> Recogniser::truth_of(Item *item) const {
  if (item->type() == Item::COND_ITEM) {
    auto &all = *static_cast<Item_cond *>(item);
    const bool decides = all.functype() == Item_func::COND_OR_FUNC;
    if (!decides && all.functype() != Item_func::COND_AND_FUNC) return std::nullopt;
    bool certain = true;
    List_iterator_fast<Item> items(*all.argument_list());
    while (Item *one = items++) {
      const std::optional<bool> truth = truth_of(one);
      if (truth == decides) return decides;
      certain = certain && truth;
    }
    return certain ? std::optional(!decides) : std::nullopt;
  }
  if (item->type() != Item::FUNC_ITEM) return std::nullopt;
  auto &function = *static_cast<Item_func *>(item);
  Item **const arguments = function.arguments();
  FormTest test{};
  if (function.functype() == Item_func::ISNULL_FUNC && arguments[0]->type() == Item::NULL_ITEM) return true;
  if (function.functype() == Item_func::ISNOTNULL_FUNC && arguments[0]->type() == Item::NULL_ITEM) return false;
  if (!binary_test(function.functype(), test) || function.argument_count() != 2) return std::nullopt;
  std::string name;
  const bool is_null = arguments[1]->type() == Item::NULL_ITEM && column(arguments[0], name);
  const bool is_turned = arguments[0]->type() == Item::NULL_ITEM && column(arguments[1], name);
  return is_null || is_turned ? std::optional(false) : std::nullopt;
}

/// Columns that are compared with values by `=`: all of an AND, or one.
bool Recogniser::equalities(Item *item, std::vector<std::pair<Item *, Item *>> &found) const {
  if (item->type() == Item::COND_ITEM && static_cast<Item_cond *>(item)->functype() == Item_func::COND_AND_FUNC) {
    List_iterator_fast<Item> items(*static_cast<Item_cond *>(item)->argument_list());
    while (Item *one = items++)
      if (one->type() == Item::COND_ITEM || !equalities(one, found)) return false;
    return true;
  }
  if (item->type() != Item::FUNC_ITEM) return false;
  auto &function = *static_cast<Item_func *>(item);
  Item **const sides = function.arguments();
  std::string name;
  if (function.functype() != Item_func::EQ_FUNC) return false;
  const bool turned = !column(sides[0], name);
  if (turned && !column(sides[1], name)) return false;
  found.emplace_back(sides[turned ? 1 : 0], sides[turned ? 0 : 1]);
  return true;
}

/// `a = 1 OR a = 2` and `(a = 1 AND b = 2) OR (a = 3 AND b = 4)` are lists: the server makes the same ranges of them as
/// of IN. Parts that are never true are left out.
std::optional<WhyNot> Recogniser::read_either(Item_cond &any) {
  std::vector<Item *> parts;
  List_iterator_fast<Item> items(*any.argument_list());
  while (Item *one = items++)
    if (truth_of(one) != false) parts.push_back(one);
  if (parts.size() == 1) return read_where(parts[0]);
  std::vector<std::pair<Item *, Item *>> found;
  for (Item *const one : parts)
    if (!equalities(one, found)) return WhyNot::either;
  const size_t columns = found.size() / parts.size();
  const FormTest test = columns == 1 ? FormTest::in : FormTest::tuple;
  const bool again =
      std::ranges::any_of(form_.conditions, [](const FormCondition &one) { return one.test == FormTest::tuple; });
  if (columns * parts.size() != found.size() || (test == FormTest::tuple && again)) return WhyNot::either;
  std::vector<std::string> names(columns);
  for (size_t at = 0; at < found.size(); ++at) {
    std::string name;
    column(found[at].first, name);
    if (at >= columns ? !same_column(name, names[at % columns])
                      : std::ranges::any_of(names, [&](const std::string &one) { return same_column(one, name); }))
      return WhyNot::either;
    if (at < columns) names[at] = name;
  }
  std::vector<Item *> values(parts.size());
  for (size_t of = 0; of < columns; ++of) {
    for (size_t row = 0; row < parts.size(); ++row) values[row] = found[row * columns + of].second;
    if (const auto why = add(test, found[of].first, values.data(), static_cast<uint>(values.size()))) return why;
  }
  return std::nullopt;
}

std::optional<WhyNot> Recogniser::read_where(Item *item) {
  if (const std::optional<bool> truth = truth_of(item)) {
    never_ = never_ || !*truth;
    return std::nullopt;
  }
  if (item->type() == Item::COND_ITEM) {
    auto &all = *static_cast<Item_cond *>(item);
    if (all.functype() == Item_func::COND_OR_FUNC) return read_either(all);
    if (all.functype() != Item_func::COND_AND_FUNC) return WhyNot::either;
    List_iterator_fast<Item> items(*all.argument_list());
    while (Item *one = items++)
      if (const auto why = read_where(one)) return why;
    return std::nullopt;
  }
  if (item->type() == Item::FIELD_ITEM) return add_truth(item, FormTest::unequal);
  if (item->type() == Item::FUNC_ITEM) {
    auto &function = *static_cast<Item_func *>(item);
    if (function.functype() == Item_func::NOT_FUNC && function.arguments()[0]->type() == Item::FIELD_ITEM)
      return add_truth(function.arguments()[0], FormTest::equal);
    return read_comparison(function);
  }
  FormValue constant;
  if (value(item, constant) && constant.from == FormValue::From::integer) {
    if (constant.integer == 0) never_ = true;
    return std::nullopt;
  }
  return WhyNot::condition;
}

std::optional<WhyNot> Recogniser::read_comparison(Item_func &function) {
  Item **const arguments = function.arguments();
  const uint count = function.argument_count();
  FormTest test{};
  if (binary_test(function.functype(), test)) {
    if (count != 2) return WhyNot::condition;
    if (test == FormTest::equal && arguments[0]->type() == Item::ROW_ITEM) return read_rows(test, arguments, count);
    if (arguments[0]->type() == Item::FIELD_ITEM) return add(test, arguments[0], arguments + 1, 1);
    if (arguments[1]->type() == Item::FIELD_ITEM) return add(turned(test), arguments[1], arguments, 1);
    FormValue left;
    FormValue right;
    if (test != FormTest::equal || !value(arguments[0], left) || !value(arguments[1], right) ||
        left.from != FormValue::From::integer || right.from != FormValue::From::integer)
      return WhyNot::condition;
    if (left.integer != right.integer) never_ = true;
    return std::nullopt;
  }
  switch (function.functype()) {
    case Item_func::ISNULL_FUNC: return count == 1 ? add(FormTest::null, arguments[0], nullptr, 0) : WhyNot::condition;
    case Item_func::ISNOTNULL_FUNC:
      return count == 1 ? add(FormTest::not_null, arguments[0], nullptr, 0) : WhyNot::condition;
    case Item_func::BETWEEN: {
      if (static_cast<Item_func_opt_neg &>(function).negated) return WhyNot::negation;
      if (count != 3) return WhyNot::condition;
      const std::optional<WhyNot> why = add(FormTest::at_least, arguments[0], arguments + 1, 1);
      return !why ? add(FormTest::at_most, arguments[0], arguments + 2, 1) : why;
    }
    case Item_func::IN_FUNC:
      if (static_cast<Item_func_opt_neg &>(function).negated) return WhyNot::negation;
      if (arguments[0]->type() == Item::ROW_ITEM) return read_rows(FormTest::tuple, arguments, count);
      return count >= 2 ? add(FormTest::in, arguments[0], arguments + 1, count - 1) : WhyNot::condition;
    case Item_func::LIKE_FUNC:
      if (static_cast<Item_func_like &>(function).get_negated()) return WhyNot::negation;
      // Only the usual escape character; a written one is an expression.
      if (count != 2 || lex_.escape_used) return WhyNot::condition;
      return add(FormTest::like, arguments[0], arguments + 1, 1);
    default: return WhyNot::condition;
  }
}

/// `(a, b) = (1, 2)`, or one list of rows: `(a, b) IN ((1, 2), (3, 4))`.
std::optional<WhyNot> Recogniser::read_rows(FormTest test, Item **rows, uint count) {
  const uint columns = rows[0]->cols();
  const bool alike = std::all_of(
      rows, rows + count, [columns](Item *row) { return row->type() == Item::ROW_ITEM && row->cols() == columns; });
  const bool again =
      std::ranges::any_of(form_.conditions, [](const FormCondition &one) { return one.test == FormTest::tuple; });
  if (!alike || (test == FormTest::tuple && again)) return WhyNot::condition;
  std::vector<Item *> values(count - 1);
  for (uint column = 0; column < columns; ++column) {
    for (uint row = 1; row < count; ++row) values[row - 1] = rows[row]->element_index(column);
    if (const auto why = add(test, rows[0]->element_index(column), values.data(), count - 1)) return why;
  }
  return std::nullopt;
}

}  // namespace postern::mariadb
