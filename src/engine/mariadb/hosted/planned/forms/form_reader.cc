#include "engine/mariadb/hosted/planned/forms/server.h"

#include <utility>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/thd/lex_of_text.h"
#include "engine/mariadb/hosted/planned/forms/derived_columns.h"
#include "engine/mariadb/hosted/planned/forms/form_parts.h"
#include "engine/mariadb/hosted/planned/forms/known_functions.h"
#include "engine/sql/texts/question_marks.h"
#include "engine/mariadb/hosted/reads/recogniser.h"
#include "engine/mariadb/hosted/reads/row_locks.h"

namespace postern::mariadb {
namespace {

constexpr size_t tables_max = 12;
constexpr size_t items_max = 512;
constexpr int subqueries_deep_max = 3;

constexpr ulonglong options_known =
    SELECT_DISTINCT | SELECT_STRAIGHT_JOIN | SELECT_SMALL_RESULT | OPTION_FOUND_ROWS | SELECT_ALL;

/// Used once.
class FormReader {
 public:
  FormReader(LEX &lex, ParsedText parsed, FormParts &parts) : lex_(lex), parsed_(parsed), parts_(parts) {}
  std::optional<WhyNot> run();

 private:
  /// The place of an expression. In a condition the names and types of its operands are not visible.
  enum class Place : uint8_t { condition, compared, calculated, row, elsewhere, listed };

  std::optional<WhyNot> check_statement() const;
  bool find_values();
  std::optional<WhyNot> check_select(SELECT_LEX &select) const;
  std::optional<WhyNot> read_lock(const SELECT_LEX &select);
  std::optional<WhyNot> read_union();
  std::optional<WhyNot> read_select(SELECT_LEX &select);
  std::optional<WhyNot> read_subquery(Item_subselect &subquery);
  std::optional<WhyNot> read_inner(SELECT_LEX &select);
  std::optional<WhyNot> read_derived(const TABLE_LIST &table);
  std::optional<WhyNot> check_inner_limit(const SELECT_LEX &select);
  std::optional<WhyNot> read_tables();
  std::optional<WhyNot> read_joins(List<TABLE_LIST> &joined);
  std::optional<WhyNot> read_table(TABLE_LIST &table);
  std::optional<WhyNot> read_list(List<Item> &items);
  std::optional<WhyNot> read_order(const SQL_I_List<ORDER> &order);
  std::optional<WhyNot> read_limit(const SELECT_LEX &select);
  std::optional<WhyNot> read(Item *item, Place place);
  std::optional<WhyNot> read_function(Item_func &function, Place place);
  std::optional<WhyNot> read_row(Item &row);
  std::optional<WhyNot> read_sum(Item_sum &sum);
  std::optional<WhyNot> read_value(const Item *item, Place place);
  void note_comparison(const Item_func &function, Place place);
  void note_rows(const Item_func &function);
  void note_column(PlacedValue &value, const Item_ident &column) const;
  PlacedValue *value_of(const Item *item);

  LEX &lex_;
  const ParsedText parsed_;
  FormParts &parts_;
  size_t items_ = 0;
  size_t selects_ = 0;   // read
  uint32_t select_ = 0;  // the number of the one that is read
  int nested_in_ = 0;    // so many subqueries
  bool takes_subqueries_ = true;
  bool takes_derived_ = true;
  bool in_derived_ = false;
  bool takes_session_ = true;   // not in HAVING and aggregates
  bool named_by_text_ = false;  // a column of the answer that the literals in it name
};

std::optional<WhyNot> FormReader::run() {
  if (const auto why = check_statement()) return why;
  if (!find_values()) return WhyNot::syntax;
  parts_.literals = parsed_ == ParsedText::form;
  SELECT_LEX &select = *lex_.first_select_lex();
  if (const auto why = read_tables()) return why;
  if (lex_.unit.is_unit_op()) {
    if (const auto why = read_union()) return why;
  } else {
    if (const auto why = read_select(select)) return why;
    parts_.ordered = select.order_list.elements != 0;
    if (const auto why = read_limit(select)) return why;
  }
  size_t selects = 0;
  for (SELECT_LEX *one = lex_.all_selects_list; one != nullptr; one = one->next_select_in_list())
    if (one != lex_.unit.fake_select_lex) ++selects;
  return selects == selects_ ? std::nullopt : std::optional(WhyNot::several_selects);
}

/// UNION and UNION ALL of SELECTs as they may stand in FROM. LIMIT and ORDER BY of the whole belong to the form.
std::optional<WhyNot> FormReader::read_union() {
  takes_derived_ = false;
  in_derived_ = true;
  SELECT_LEX *const first = lex_.unit.first_select();
  for (SELECT_LEX *one = first; one != nullptr; one = one->next_select()) {
    if ((one != first && one->get_linkage() != UNION_TYPE) || (one->options & OPTION_FOUND_ROWS) != 0)
      return WhyNot::several_selects;
    if (const auto why = check_inner_limit(*one)) return why;
    takes_session_ = true;
    if (const auto why = read_select(*one)) return why;
  }
  const SELECT_LEX *const whole = lex_.unit.global_parameters();
  if (whole == first) return std::nullopt;
  takes_session_ = takes_subqueries_ = false;
  parts_.ordered = whole->order_list.elements != 0;
  parts_.limited = whole->limit_params.select_limit != nullptr;
  if (const auto why = check_inner_limit(*whole)) return why;
  return read_order(whole->order_list);
}

std::optional<WhyNot> FormReader::read_select(SELECT_LEX &select) {
  ++selects_;
  select_ = select.select_number;
  if (select.table_list.elements == 0) return WhyNot::no_table;
  if (const auto why = check_select(select)) return why;
  if (const auto why = read_lock(select)) return why;
  // If all rows are constant the server sends one, whatever the OFFSET.
  const bool listed = !in_derived_ && !(select.options & SELECT_DISTINCT) && select.group_list.elements == 0;
  const bool around = std::exchange(takes_session_, takes_session_ && listed);
  // If no row is found the server makes constants of expressions beside aggregates.
  const bool takes_subqueries = nested_in_ < subqueries_deep_max && !in_derived_ && parts_.derived.empty();
  takes_subqueries_ = takes_subqueries && nested_in_ == 0 && !select.with_sum_func;
  if (const auto why = read_list(select.item_list)) return why;
  takes_subqueries_ = takes_subqueries;
  takes_session_ = around;
  if (const auto why = read_joins(*select.join_list)) return why;
  if (const auto why = select.where ? read(select.where, Place::condition) : std::nullopt) return why;
  takes_subqueries_ = takes_session_ = false;
  if (const auto why = select.having ? read(select.having, Place::elsewhere) : std::nullopt) return why;
  if (const auto why = read_order(select.group_list)) return why;
  takes_session_ = around && listed;
  return read_order(select.order_list);
}

/// One that is executed for each row, or that the optimizer joins.
std::optional<WhyNot> FormReader::read_subquery(Item_subselect &subquery) {
  if (!std::exchange(takes_subqueries_, false)) return WhyNot::several_selects;
  SELECT_LEX *const select = subquery.get_select_lex();
  SELECT_LEX_UNIT *const unit = select->master_unit();
  if (unit->is_unit_op() || unit->fake_select_lex != nullptr || select->next_select() != nullptr)
    return WhyNot::several_selects;
  switch (subquery.substype()) {
    case Item_subselect::SINGLEROW_SUBS:
    case Item_subselect::EXISTS_SUBS: break;
    case Item_subselect::IN_SUBS: {
      Item *const left = static_cast<Item_in_subselect &>(subquery).left_exp();
      if (left->type() != Item::FIELD_ITEM) return WhyNot::condition;
      break;
    }
    default: return WhyNot::several_selects;
  }
  if (select->limit_params.offset_limit != nullptr) return WhyNot::limit;
  if (const auto why = check_inner_limit(*select)) return why;
  const bool takes_derived = std::exchange(takes_derived_, false);
  ++nested_in_;
  const auto why = read_inner(*select);
  --nested_in_;
  takes_derived_ = takes_derived;
  takes_subqueries_ = true;
  return why;
}

/// The optimizer merges it with the SELECT around it, or its rows are kept.
std::optional<WhyNot> FormReader::read_derived(const TABLE_LIST &table) {
  SELECT_LEX_UNIT &unit = *table.derived;
  SELECT_LEX *const select = unit.first_select();
  if (!takes_derived_ || unit.is_unit_op() || unit.fake_select_lex != nullptr || select->next_select() != nullptr)
    return WhyNot::several_selects;
  if (const auto why = check_inner_limit(*select)) return why;
  const bool in_another = std::exchange(in_derived_, true);
  const auto why = read_inner(*select);
  in_derived_ = in_another;
  takes_subqueries_ = false;
  return why;
}

/// A SELECT in another one.
std::optional<WhyNot> FormReader::read_inner(SELECT_LEX &select) {
  const uint32_t around = select_;
  const bool takes_session = takes_session_;
  const auto why = read_select(select);
  select_ = around;
  takes_session_ = takes_session;
  return why;
}

/// That of a SELECT in another one belongs to the form.
std::optional<WhyNot> FormReader::check_inner_limit(const SELECT_LEX &select) {
  if (select.limit_params.with_ties) return WhyNot::limit;
  for (const Item *one : {select.limit_params.select_limit, select.limit_params.offset_limit})
    if (one != nullptr && (parsed_ == ParsedText::own || value_of(one) == nullptr) && !one->basic_const_item())
      return WhyNot::limit;
  return std::nullopt;
}

/// Each ? that the parser has met, in the text. It has their distances from each other, but not from the beginning.
bool FormReader::find_values() {
  const std::vector<uint32_t> found = sql::question_marks(parts_.text);
  if (found.size() != lex_.param_list.elements) return false;
  size_t at = 0;
  my_ptrdiff_t first = 0;
  List_iterator_fast<Item_param> params(lex_.param_list);
  while (const Item_param *one = params++) {
    if (at == 0) first = one->pos_in_query;
    if (one->pos_in_query - first != found[at] - found[0]) return false;
    parts_.values.push_back({.at = found[at++]});
  }
  return true;
}

std::optional<WhyNot> FormReader::check_statement() const {
  if (lex_.sql_command != SQLCOM_SELECT) return WhyNot::command;
  if (lex_.describe || lex_.analyze_stmt || lex_.exchange || lex_.result != nullptr || lex_.proc_list.elements ||
      lex_.sphead)
    return WhyNot::into;
  if (!sets_waits_alone(lex_.stmt_var_list) || !lex_.set_var_list.is_empty()) return WhyNot::set_statement;
  if (lex_.with_clauses_list) return WhyNot::common_table;
  if (lex_.sroutines.records || lex_.sroutines_list.elements) return WhyNot::routine;
  if (lex_.limit_rows_examined) return WhyNot::limit;
  if (lex_.param_list.elements > plan_values_max) return WhyNot::too_much;
  const SELECT_LEX *const select = lex_.first_select_lex();
  if (!select || (!lex_.unit.is_unit_op() && lex_.unit.fake_select_lex)) return WhyNot::several_selects;
  return std::nullopt;
}

std::optional<WhyNot> FormReader::check_select(SELECT_LEX &select) const {
  if (select.options & ~options_known) return WhyNot::option;
  if (select.olap != UNSPECIFIED_OLAP_TYPE || select.window_specs.elements || select.have_window_funcs())
    return WhyNot::group;
  // The plan itself is checked for rows that may all be equal (equal_rows.h).
  const bool skips = (select.options & SELECT_DISTINCT) != 0 && select.limit_params.offset_limit != nullptr;
  const bool may_skip = &select == lex_.first_select_lex() && !lex_.unit.is_unit_op() && parts_.derived.empty() &&
                        select.group_list.elements == 0 && !select.with_sum_func;
  if (skips && !may_skip) return WhyNot::option;
  if (select.tvc || select.udf_list.elements || select.ftfunc_list->elements || select.with_rownum)
    return WhyNot::wanted;
  return std::nullopt;
}

/// One row of each of several tables (plan_checks.cc).
std::optional<WhyNot> FormReader::read_lock(const SELECT_LEX &select) {
  parts_.lock = lock_in(select);
  if (parts_.lock == FormLock::none) return std::nullopt;
  const bool alone = lex_.all_selects_list == &select && lex_.all_selects_list->next_select_in_list() == nullptr;
  const bool plain = select.group_list.elements == 0 && select.having == nullptr && !select.with_sum_func &&
                     !(select.options & SELECT_DISTINCT);
  if (!alone || !plain || parts_.tables.size() < 2) return WhyNot::locks_rows;
  return std::nullopt;
}

/// Those of subqueries, too, in the order in which the server opens them.
std::optional<WhyNot> FormReader::read_tables() {
  for (TABLE_LIST *table = lex_.query_tables; table != nullptr; table = table->next_global)
    if (const auto why = read_table(*table)) return why;
  if (parts_.tables.empty()) return WhyNot::no_table;
  return parts_.tables.size() <= tables_max ? std::nullopt : std::optional(WhyNot::too_much);
}

/// Conditions of joins, which hang on tables and on what stands in parentheses.
std::optional<WhyNot> FormReader::read_joins(List<TABLE_LIST> &joined) {
  List_iterator_fast<TABLE_LIST> tables(joined);
  while (TABLE_LIST *table = tables++) {
    if (table->sj_on_expr != nullptr) return WhyNot::several_selects;
    if (table->outer_join != 0 && parts_.lock != FormLock::none) return WhyNot::locks_rows;
    if (table->derived != nullptr) {
      if (const auto why = read_derived(*table)) return why;
    }
    if (const auto why = table->on_expr ? read(table->on_expr, Place::condition) : std::nullopt) return why;
    if (table->nested_join == nullptr) continue;
    if (const auto why = read_joins(table->nested_join->join_list)) return why;
  }
  return std::nullopt;
}

std::optional<WhyNot> FormReader::read_table(TABLE_LIST &table) {
  if (table.view || table.table_function || table.schema_table || table.with || table.jtbm_subselect ||
      table.schema_table_name.length)
    return WhyNot::table_kind;
#ifdef WITH_PARTITION_STORAGE_ENGINE
  if (table.partition_names) return WhyNot::table_parts;
#endif
  if (table.vers_conditions.is_set() || table.period_conditions.is_set()) return WhyNot::table_parts;
  if (table.derived != nullptr) {
    parts_.derived.push_back(derived_of(table));
    return std::nullopt;
  }
  if (!table.db.str || !table.db.length || !table.table_name.str || !table.alias.str) return WhyNot::no_table;
  parts_.tables.push_back(
      {text_of(table.db), text_of(table.table_name), text_of(table.alias), table.select_lex->select_number});
  return std::nullopt;
}

std::optional<WhyNot> FormReader::read_list(List<Item> &items) {
  List_iterator_fast<Item> all(items);
  while (Item *item = all++) {
    const bool named = named_by_text_ || (parts_.literals && !item->is_explicit_name());
    const bool around = std::exchange(named_by_text_, named);
    if (const auto why = read(item, Place::listed)) return why;
    named_by_text_ = around;
  }
  return std::nullopt;
}

std::optional<WhyNot> FormReader::read_order(const SQL_I_List<ORDER> &order) {
  for (const ORDER *one = order.first; one != nullptr; one = one->next)
    if (const auto why = read(*one->item, Place::elsewhere)) return why;
  return std::nullopt;
}

std::optional<WhyNot> FormReader::read_limit(const SELECT_LEX &select) {
  const auto &limit = select.limit_params;
  if (limit.with_ties) return WhyNot::limit;
  parts_.limited = limit.select_limit != nullptr;
  // If both are given, and only one is a parameter, its value shapes the plan.
  const bool both_vary =
      limit.offset_limit == nullptr || (value_of(limit.select_limit) && value_of(limit.offset_limit));
  for (const Item *one : {limit.select_limit, limit.offset_limit}) {
    if (one != nullptr && one->type() != Item::PARAM_ITEM && one->type() != Item::CONST_ITEM) return WhyNot::limit;
    if (PlacedValue *const value = one != nullptr && both_vary ? value_of(one) : nullptr; value != nullptr)
      value->as = one == limit.select_limit ? PlacedValue::As::limit : PlacedValue::As::offset;
  }
  return std::nullopt;
}

std::optional<WhyNot> FormReader::read(Item *item, Place place) {
  if (++items_ > items_max) return WhyNot::too_much;
  if (value_of(item) != nullptr) return read_value(item, place);
  switch (item->type()) {
    case Item::FIELD_ITEM:
    case Item::REF_ITEM: return std::nullopt;
    case Item::CONST_ITEM:
      // A TIME becomes a date by that of today.
      if (!item->basic_const_item() || item->type_handler()->mysql_timestamp_type() == MYSQL_TIMESTAMP_TIME)
        return WhyNot::value;
      return std::nullopt;
    case Item::NULL_ITEM:
      // In a list, a range or a row; compares_two() is for the others.
      return place == Place::elsewhere || place == Place::listed ? std::nullopt : std::optional(WhyNot::value);
    case Item::COND_ITEM: {
      List_iterator_fast<Item> all(*static_cast<Item_cond *>(item)->argument_list());
      while (Item *one = all++)
        if (const auto why = read(one, place)) return why;
      return std::nullopt;
    }
    case Item::FUNC_ITEM: return read_function(*static_cast<Item_func *>(item), place);
    case Item::ROW_ITEM: return place == Place::row ? read_row(*item) : std::optional(WhyNot::wanted);
    case Item::SUM_FUNC_ITEM: return read_sum(*static_cast<Item_sum *>(item));
    case Item::SUBSELECT_ITEM: return read_subquery(*static_cast<Item_subselect *>(item));
    default: return WhyNot::wanted;
  }
}

std::optional<WhyNot> FormReader::read_sum(Item_sum &sum) {
  switch (sum.sum_func()) {
    case Item_sum::COUNT_FUNC:
    case Item_sum::COUNT_DISTINCT_FUNC:
    case Item_sum::SUM_FUNC:
    case Item_sum::AVG_FUNC:
    case Item_sum::MIN_FUNC:
    case Item_sum::MAX_FUNC:
    case Item_sum::GROUP_CONCAT_FUNC: break;
    default: return WhyNot::wanted;
  }
  const bool counts_distinct = sum.sum_func() == Item_sum::COUNT_DISTINCT_FUNC;
  const bool has_table = counts_distinct || sum.sum_func() == Item_sum::GROUP_CONCAT_FUNC;
  // COUNT(DISTINCT ...) in a subquery was not tried.
  if (has_table ? counts_distinct && nested_in_ > 0 : sum.has_with_distinct()) return WhyNot::wanted;
  const bool takes_session = std::exchange(takes_session_, false);
  for (uint i = 0; i < sum.get_arg_count(); ++i)
    if (const auto why = read(sum.get_arg(i), Place::elsewhere)) return why;
  takes_session_ = takes_session;
  return std::nullopt;
}

std::optional<WhyNot> FormReader::read_function(Item_func &function, Place place) {
  if (const SessionFunction kind = session_function(function); kind != SessionFunction::none) {
    if (!takes_session_ || (kind == SessionFunction::text && place != Place::listed)) return WhyNot::function;
    if (tells_time(function)) parts_.of_time = true;
    return std::nullopt;
  }
  if (!is_known(function)) return WhyNot::function;
  note_comparison(function, place);
  const auto type = function.functype();
  const bool compares = compares_two(function);
  Place inner = place;
  if (compares || type == Item_func::BETWEEN || type == Item_func::IN_FUNC || type == Item_func::LIKE_FUNC) {
    if (place == Place::condition) inner = Place::compared;
  } else if (type != Item_func::NOT_FUNC) {
    inner = Place::elsewhere;
  }
  const bool is_compared = place == Place::compared || place == Place::calculated;
  const bool of_rows = type == Item_func::IN_FUNC || type == Item_func::EQ_FUNC;
  for (uint i = 0; i < function.argument_count(); ++i) {
    Item *const one = function.arguments()[i];
    if (one->type() == Item::NULL_ITEM && compares) continue;
    const bool is_row = of_rows && inner == Place::compared && one->type() == Item::ROW_ITEM;
    const bool calculates = is_compared && calculates_with(lex_, parsed_, function, i);
    if (const auto why = read(one, is_row ? Place::row : calculates ? Place::calculated : inner)) return why;
  }
  return std::nullopt;
}

/// One side of (a, b) = (1, 2), or of IN.
std::optional<WhyNot> FormReader::read_row(Item &row) {
  for (uint i = 0; i < row.cols(); ++i)
    if (const auto why = read(row.element_index(i), Place::compared)) return why;
  return std::nullopt;
}

/// Where they are visible, a parameter's name and type differ from a literal's.
std::optional<WhyNot> FormReader::read_value(const Item *item, Place place) {
  if (place == Place::calculated && !named_by_text_) value_of(item)->as = PlacedValue::As::calculated;
  else if (parsed_ == ParsedText::own && place != Place::compared) return WhyNot::value;
  return std::nullopt;
}

/// A column on one side, values on the other.
void FormReader::note_comparison(const Item_func &function, Place place) {
  if (place != Place::condition || named_by_text_) return;
  switch (function.functype()) {
    case Item_func::EQ_FUNC:
    case Item_func::IN_FUNC:
      if (function.arguments()[0]->type() == Item::ROW_ITEM) return note_rows(function);
      break;
    case Item_func::EQUAL_FUNC:
    case Item_func::NE_FUNC:
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GT_FUNC:
    case Item_func::GE_FUNC:
    case Item_func::BETWEEN: break;
    case Item_func::LIKE_FUNC:
      if (lex_.escape_used) return;
      break;
    default: return;
  }
  const bool pattern = function.functype() == Item_func::LIKE_FUNC;
  if ((pattern || function.functype() == Item_func::IN_FUNC) && value_of(function.arguments()[0]) != nullptr) return;
  const Item_ident *column = nullptr;
  for (uint i = 0; i < function.argument_count(); ++i) {
    const Item *const one = function.arguments()[i];
    if (value_of(one) != nullptr) continue;
    if (function.functype() == Item_func::BETWEEN && one->type() == Item::FUNC_ITEM) continue;
    if (one->type() != Item::FIELD_ITEM || column != nullptr) return;
    column = static_cast<const Item_ident *>(one);
  }
  if (column == nullptr) return;
  for (uint i = 0; i < function.argument_count(); ++i) {
    PlacedValue *const value = value_of(function.arguments()[i]);
    if (value == nullptr) continue;
    note_column(*value, *column);
    if (pattern) value->as = PlacedValue::As::pattern;
  }
}

/// Columns in the first row, values in the others.
void FormReader::note_rows(const Item_func &function) {
  Item **const rows = function.arguments();
  for (uint row = 1; row < function.argument_count(); ++row) {
    if (rows[row]->type() != Item::ROW_ITEM || rows[row]->cols() != rows[0]->cols()) return;
    for (uint at = 0; at < rows[0]->cols(); ++at) {
      PlacedValue *const value = value_of(rows[row]->element_index(at));
      const Item *const column = rows[0]->element_index(at);
      if (value != nullptr && column->type() == Item::FIELD_ITEM)
        note_column(*value, static_cast<const Item_ident &>(*column));
    }
  }
}

void FormReader::note_column(PlacedValue &value, const Item_ident &column) const {
  if (column.field_name.str == nullptr || column.db_name.length != 0) return;
  if (column.table_name.str != nullptr) value.table = text_of(column.table_name);
  value.column = text_of(column.field_name);
  value.select = select_;
}

PlacedValue *FormReader::value_of(const Item *item) {
  size_t at = 0;
  List_iterator_fast<Item_param> params(lex_.param_list);
  while (const Item *one = params++) {
    if (one == item) return &parts_.values[at];
    ++at;
  }
  return nullptr;
}

}  // namespace

std::optional<WhyNot> read_form(THD *thd, Bytes text, ParsedText parsed, FormParts &parts) {
  const LexOfText tree(thd, text);
  if (tree.lex() == nullptr) return WhyNot::syntax;
  parts.text.assign(text);
  return FormReader(*tree.lex(), parsed, parts).run();
}

}  // namespace postern::mariadb
