#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/writes/recognise_change.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/mariadb/hosted/reads/recogniser.h"

namespace postern::mariadb {
namespace {

using Duplicate = ChangeForm::Duplicate;

constexpr size_t assignments_max = 128;

class ChangeRecogniser : private Recogniser {
 public:
  ChangeRecogniser(THD *thd, LEX &lex, ChangeForm &form)
      : Recogniser(thd, lex, ParsedText::form, form.rows), change_(form) {}
  std::optional<WhyNot> run();

 private:
  std::optional<WhyNot> read_rows(SELECT_LEX &select);
  std::optional<WhyNot> read_insert(SELECT_LEX &select);
  std::optional<WhyNot> read_duplicate();
  std::optional<WhyNot> read_returning();
  std::optional<WhyNot> read_assignments(List<Item> &columns, List<Item> &values);
  std::optional<WhyNot> read_assignment(Item *field, Item *value);
  bool read_computed(Item_func &function, FormAssignment &assignment);
  bool read_source(Item *item, FormAssignment &assignment);
  bool read_bound(Item *item, std::optional<FormValue> &bound);
  bool read_operand(Item *item, FormAssignment &assignment);
  bool read_value(Item *item, FormValue &to);
  bool read_new_value(Item *item, FormValue &to);

  ChangeForm &change_;
};

std::optional<WhyNot> ChangeRecogniser::run() {
  switch (lex_.sql_command) {
    case SQLCOM_UPDATE: change_.what = ChangeForm::What::update; break;
    case SQLCOM_DELETE: change_.what = ChangeForm::What::erase; break;
    case SQLCOM_INSERT:
    case SQLCOM_REPLACE: change_.what = ChangeForm::What::insert; break;
    case SQLCOM_UPDATE_MULTI:
    case SQLCOM_DELETE_MULTI: return WhyNot::joined_change;
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE_SELECT: return WhyNot::rows_of_select;
    default: return WhyNot::command;
  }
  if (const auto why = check_statement()) return why;
  SELECT_LEX *const select = lex_.first_select_lex();
  if (lex_.param_list.elements > plan_values_max) return WhyNot::too_much;
  form_.arguments = static_cast<uint16_t>(lex_.param_list.elements);
  if (select->first_inner_unit() || lex_.all_selects_list != select) return WhyNot::several_selects;
  if (change_.what == ChangeForm::What::insert) return read_insert(*select);
  if (lex_.ignore) return WhyNot::option;
  if (const auto why = read_rows(*select)) return why;
  if (change_.what == ChangeForm::What::update) return read_assignments(select->item_list, lex_.value_list);
  return read_returning();
}

/// Columns, and `*`: other expressions depend on more than the row.
std::optional<WhyNot> ChangeRecogniser::read_returning() {
  if (!lex_.has_returning()) return std::nullopt;
  if (const auto why = read_wanted(*lex_.returning())) return why;
  const bool plain = std::ranges::all_of(form_.wanted, [](const FormWanted &one) {
    return one.what == FormWanted::What::column || one.what == FormWanted::What::all_columns;
  });
  return plain ? std::nullopt : std::optional(WhyNot::wanted);
}

std::optional<WhyNot> ChangeRecogniser::read_rows(SELECT_LEX &select) {
  if (const auto why = check_select(select)) return why;
  if (const auto why = read_table(select)) return why;
  if (const auto why = read_order(select)) return why;
  if (const auto why = read_limit(select)) return why;
  Item *const where = select.prep_where ? select.prep_where : select.where;
  if (!where) return WhyNot::no_key;
  if (const auto why = read_where(where)) return why;
  return never_ || form_.conditions.empty() ? std::optional(WhyNot::no_key) : std::nullopt;
}

std::optional<WhyNot> ChangeRecogniser::read_assignments(List<Item> &columns, List<Item> &assigned) {
  if (columns.elements != assigned.elements) return WhyNot::wanted;
  if (columns.elements > assignments_max) return WhyNot::too_much;
  List_iterator_fast<Item> fields(columns);
  List_iterator_fast<Item> values(assigned);
  while (Item *const field = fields++) {
    if (const auto why = read_assignment(field, values++)) return why;
  }
  return std::nullopt;
}

std::optional<WhyNot> ChangeRecogniser::read_assignment(Item *field, Item *value) {
  FormAssignment assignment;
  if (!column(field, assignment.column)) return WhyNot::name;
  if (column(value, assignment.source)) {
    assignment.how = FormAssignment::How::keep;
  } else if (!read_operand(value, assignment)) {
    if (value->type() != Item::FUNC_ITEM || !read_computed(*static_cast<Item_func *>(value), assignment))
      return WhyNot::value;
  }
  change_.assignments.push_back(std::move(assignment));
  return std::nullopt;
}

bool ChangeRecogniser::read_computed(Item_func &function, FormAssignment &assignment) {
  const std::string_view name = function.func_name();
  Item **const arguments = function.arguments();
  const bool inserts = change_.what == ChangeForm::What::insert;
  if (inserts && name == "last_insert_id" && function.argument_count() == 1) {
    assignment.how = FormAssignment::How::tell;
    return column(arguments[0], assignment.source);
  }
  if (function.argument_count() != 2) return false;
  if (name == "greatest" && !assignment.at_least && arguments[0]->type() == Item::FUNC_ITEM)
    return read_bound(arguments[1], assignment.at_least) &&
           read_computed(*static_cast<Item_func *>(arguments[0]), assignment);
  const bool plus = name == "+";
  if (!plus && name != "-") return false;
  assignment.how = plus ? FormAssignment::How::add : FormAssignment::How::subtract;
  const size_t source = plus && !read_source(arguments[0], assignment) ? 1 : 0;
  if (!read_source(arguments[source], assignment)) {
    if (!read_bound(arguments[0], assignment.base) || !read_operand(arguments[1], assignment)) return false;
  } else if (!read_operand(arguments[1 - source], assignment)) {
    return false;
  }
  const FormValue::From from = assignment.value.from;
  return !assignment.given.empty() ||
         (from != FormValue::From::text && from != FormValue::From::null && from != FormValue::From::time);
}

/// A column, or COALESCE(column, integer).
bool ChangeRecogniser::read_source(Item *item, FormAssignment &assignment) {
  if (column(item, assignment.source)) return true;
  if (item->type() != Item::FUNC_ITEM) return false;
  auto &function = *static_cast<Item_func *>(item);
  const std::string_view name = function.func_name();
  return (name == "coalesce" || name == "ifnull") && function.argument_count() == 2 &&
         column(function.arguments()[0], assignment.source) && read_bound(function.arguments()[1], assignment.if_null);
}

/// An integer.
bool ChangeRecogniser::read_bound(Item *item, std::optional<FormValue> &bound) {
  bound.emplace();
  return read_value(item, *bound) &&
         (bound->from == FormValue::From::argument || bound->from == FormValue::From::integer);
}

/// A value, or VALUES(column) in ON DUPLICATE KEY UPDATE.
bool ChangeRecogniser::read_operand(Item *item, FormAssignment &assignment) {
  if (item->type() != Item::INSERT_VALUE_ITEM) return read_value(item, assignment.value);
  return change_.what == ChangeForm::What::insert &&
         column(static_cast<Item_insert_value *>(item)->arg, assignment.given);
}

/// Reads the clause for existing rows.
std::optional<WhyNot> ChangeRecogniser::read_duplicate() {
  switch (lex_.duplicates) {
    case DUP_ERROR: change_.duplicate = lex_.ignore ? Duplicate::ignore : Duplicate::refuse; break;
    case DUP_REPLACE: change_.duplicate = Duplicate::replace; break;
    case DUP_UPDATE: change_.duplicate = Duplicate::update; break;
  }
  if (lex_.ignore && change_.duplicate != Duplicate::ignore) return WhyNot::option;
  if (change_.duplicate != Duplicate::update)
    return lex_.update_list.elements ? std::optional(WhyNot::option) : std::nullopt;
  return read_assignments(lex_.update_list, lex_.value_list);
}

std::optional<WhyNot> ChangeRecogniser::read_insert(SELECT_LEX &select) {
  if (const auto why = check_select(select)) return why;
  if (const auto why = read_table(select)) return why;
  if (table_->lock_type == TL_WRITE_DELAYED) return WhyNot::option;
  if (const auto why = read_duplicate()) return why;
  if (const auto why = read_returning()) return why;
  if (lex_.many_values.elements == 0) return WhyNot::wanted;
  if (lex_.field_list.elements > assignments_max) return WhyNot::too_much;
  List_iterator_fast<Item> fields(lex_.field_list);
  while (Item *const field = fields++) {
    if (!column(field, change_.columns.emplace_back())) return WhyNot::name;
  }
  List_iterator_fast<List_item> rows(lex_.many_values);
  while (List_item *const row = rows++) {
    if (row->elements == 0) return WhyNot::wanted;
    std::vector<FormValue> &values = change_.new_rows.emplace_back();
    List_iterator_fast<Item> items(*row);
    while (Item *const item = items++) {
      if (!read_new_value(item, values.emplace_back())) return WhyNot::value;
    }
  }
  return std::nullopt;
}

bool ChangeRecogniser::read_new_value(Item *item, FormValue &to) {
  if (item->type() != Item::CONTEXTUALLY_TYPED_VALUE_ITEM) return read_value(item, to);
  to.from = FormValue::From::standard;
  StringBuffer<16> word;  // the other one is IGNORE
  item->print(&word, QT_ORDINARY);
  return word.length() == 7 && std::memcmp(word.ptr(), "default", 7) == 0;
}

bool ChangeRecogniser::read_value(Item *item, FormValue &to) {
  if (any_value(item, to)) return true;
  if (item->type() != Item::NULL_ITEM) return false;
  to.from = FormValue::From::null;
  return true;
}

}  // namespace

std::optional<WhyNot> recognise_change(THD *thd, LEX &lex, ChangeForm &form) {
  form = {};
  return ChangeRecogniser(thd, lex, form).run();
}

}  // namespace postern::mariadb
