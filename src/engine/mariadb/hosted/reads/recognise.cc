#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/reads/recognise.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/mariadb/hosted/reads/recogniser.h"
#include "engine/mariadb/hosted/reads/row_locks.h"

namespace postern::mariadb {
namespace {

constexpr size_t wanted_max = 512;

constexpr ulonglong options_refused = SELECT_DISTINCT | SELECT_STRAIGHT_JOIN | SELECT_SMALL_RESULT | SELECT_BIG_RESULT |
                                      OPTION_FOUND_ROWS | OPTION_BUFFER_RESULT | SELECT_HIGH_PRIORITY | SELECT_ALL |
                                      OPTION_TO_QUERY_CACHE;

}  // namespace

std::optional<WhyNot> Recogniser::run() {
  if (lex_.sql_command != SQLCOM_SELECT) return WhyNot::command;
  if (const auto why = check_statement()) return why;
  SELECT_LEX *select = lex_.first_select_lex();
  if (lex_.param_list.elements > plan_values_max) return WhyNot::too_much;
  form_.arguments = static_cast<uint16_t>(lex_.param_list.elements);
  if (select->table_list.elements == 0 && select->first_inner_unit()) return read_exists(*select);
  if (select->first_inner_unit() || lex_.all_selects_list != select) return WhyNot::several_selects;
  return read_select(*select);
}

std::optional<WhyNot> Recogniser::check_statement() const {
  // A prepared statement's own result sends rows to the client; any other stores them.
  const bool keeps_rows = lex_.result != nullptr && lex_.result->result_interceptor() != nullptr;
  if (lex_.describe || lex_.analyze_stmt || lex_.exchange || keeps_rows || lex_.proc_list.elements || lex_.sphead)
    return WhyNot::into;
  const bool waits_otherwise = lex_.sql_command == SQLCOM_SELECT && sets_waits_alone(lex_.stmt_var_list);
  if ((!waits_otherwise && !lex_.stmt_var_list.is_empty()) || !lex_.set_var_list.is_empty())
    return WhyNot::set_statement;
  if (lex_.with_clauses_list) return WhyNot::common_table;
  if (lex_.sroutines.records || lex_.sroutines_list.elements) return WhyNot::routine;
  if (lex_.limit_rows_examined) return WhyNot::limit;
  SELECT_LEX *select = lex_.first_select_lex();
  if (!select || lex_.unit.is_unit_op() || lex_.unit.fake_select_lex || select->next_select())
    return WhyNot::several_selects;
  return std::nullopt;
}

std::optional<WhyNot> Recogniser::check_select(SELECT_LEX &select) const {
  if (select.options & options_refused) return WhyNot::option;
  if (select.group_list.elements || select.having || select.prep_having || select.olap != UNSPECIFIED_OLAP_TYPE ||
      select.window_specs.elements || select.have_window_funcs())
    return WhyNot::group;
  if (select.tvc || select.udf_list.elements || select.ftfunc_list->elements || select.with_rownum)
    return WhyNot::wanted;
  return std::nullopt;
}

/// SELECT EXISTS (SELECT ... ) AS name. Without an alias the column is named after the text, including literals: that
/// is the same only if no literal was taken out.
std::optional<WhyNot> Recogniser::read_exists(SELECT_LEX &select) {
  if (const auto why = check_select(select)) return why;
  Item *const item = select.item_list.elements == 1 ? select.item_list.head() : nullptr;
  if (!item || item->type() != Item::SUBSELECT_ITEM || (!item->is_explicit_name() && parsed_ == ParsedText::form) ||
      static_cast<Item_subselect *>(item)->substype() != Item_subselect::EXISTS_SUBS)
    return WhyNot::several_selects;
  if (select.where || select.prep_where || select.order_list.elements || select.limit_params.select_limit ||
      select.select_lock != st_select_lex::NONE)
    return WhyNot::several_selects;
  SELECT_LEX_UNIT *const unit = select.first_inner_unit();
  SELECT_LEX *const inner = unit->first_select();
  if (unit->next_unit() || unit->is_unit_op() || unit->fake_select_lex || !inner || inner->next_select() ||
      inner->first_inner_unit())
    return WhyNot::several_selects;
  if (const auto why = read_select(*inner)) return why;
  if (form_.conditions.empty()) return WhyNot::no_key;
  const bool counts =
      std::ranges::any_of(form_.wanted, [](const FormWanted &one) { return one.what == FormWanted::What::count; });
  // The server itself sets a limit of one row when it prepares this.
  const bool any_limit = form_.limit && (form_.limit->from != FormValue::From::integer || form_.limit->integer < 1);
  if (any_limit || form_.offset || form_.lock != FormLock::none || counts) return WhyNot::several_selects;
  form_.limit.reset();
  form_.order.clear();
  form_.exists = true;
  return std::nullopt;
}

std::optional<WhyNot> Recogniser::read_select(SELECT_LEX &select) {
  if (const auto why = check_select(select)) return why;
  if (const auto why = read_table(select)) return why;
  if (const auto why = read_wanted(select)) return why;
  // The optimiser changes `where`; once there was an execution, the other one is as written.
  Item *where = select.prep_where ? select.prep_where : select.where;
  if (where) {
    if (const auto why = read_where(where)) return why;
  }
  if (const auto why = read_order(select)) return why;
  if (const auto why = read_limit(select)) return why;
  if (never_ || (form_.conditions.empty() && (form_.order.empty() || !form_.limit))) return WhyNot::no_key;
  form_.lock = lock_in(select);
  form_.skips_locked = form_.lock != FormLock::none && select.skip_locked;
  return std::nullopt;
}

std::optional<WhyNot> Recogniser::read_table(SELECT_LEX &select) {
  if (select.table_list.elements == 0) return WhyNot::no_table;
  if (select.table_list.elements > 1) return WhyNot::several_tables;
  TABLE_LIST &table = *select.table_list.first;
  // The prepared form of a view has the tables below it after it.
  if (table.view || table.derived || table.table_function || table.schema_table || table.belong_to_view ||
      table.belong_to_derived || table.with || table.jtbm_subselect || table.schema_table_name.length)
    return WhyNot::table_kind;
  if (table.next_global || lex_.query_tables != &table) return WhyNot::several_tables;
  if (table.on_expr || table.nested_join || table.natural_join || table.sj_on_expr) return WhyNot::several_tables;
  if (const auto why = read_hints(table)) return why;
#ifdef WITH_PARTITION_STORAGE_ENGINE
  if (table.partition_names) return WhyNot::table_parts;
#endif
  if (table.vers_conditions.is_set() || table.period_conditions.is_set()) return WhyNot::table_parts;
  if (!table.db.str || !table.db.length || !table.table_name.str || !table.alias.str) return WhyNot::no_table;
  table_ = &table;
  form_.database = text_of(table.db);
  form_.table = text_of(table.table_name);
  return std::nullopt;
}

/// One index that the server may use, for any purpose.
std::optional<WhyNot> Recogniser::read_hints(const TABLE_LIST &table) {
  if (table.index_hints == nullptr || table.index_hints->elements == 0) return std::nullopt;
  const Index_hint &hint = *table.index_hints->head();
  const bool uses = hint.type == INDEX_HINT_USE || hint.type == INDEX_HINT_FORCE;
  if (table.index_hints->elements != 1 || !uses || hint.clause != INDEX_HINT_MASK_ALL || hint.key_name.str == nullptr)
    return WhyNot::index_hint;
  form_.index = text_of(hint.key_name);
  return std::nullopt;
}

/// Another table's name, or the table's own name in spite of an alias, is an error, which the server reports.
bool Recogniser::is_own_name(const Item_ident &ident) const {
  if (ident.table_name.str && ident.table_name.length &&
      !compat::same_name(table_alias_charset, ident.table_name.str, table_->alias.str))
    return false;
  return !ident.db_name.str || !ident.db_name.length || strcmp(ident.db_name.str, table_->db.str) == 0;
}

bool Recogniser::column(Item *item, std::string &name) const {
  if (item->type() != Item::FIELD_ITEM) return false;
  const auto &ident = *static_cast<Item_ident *>(item);
  if (!ident.field_name.str || !ident.field_name.length || ident.field_name.str[0] == '*' || !is_own_name(ident))
    return false;
  name = text_of(ident.field_name);
  return true;
}

std::optional<WhyNot> Recogniser::read_wanted(SELECT_LEX &select) {
  if (select.item_list.elements > wanted_max) return WhyNot::too_much;
  List_iterator_fast<Item> items(select.item_list);
  while (Item *item = items++) {
    FormWanted wanted;
    if (item->type() == Item::FIELD_ITEM) {
      const auto &ident = *static_cast<Item_ident *>(item);
      if (!is_own_name(ident) || !ident.field_name.str) return WhyNot::name;
      if (ident.field_name.length == 1 && ident.field_name.str[0] == '*') {
        wanted.what = FormWanted::What::all_columns;
      } else if (!column(item, wanted.column)) {
        return WhyNot::name;
      }
    } else if (item->type() == Item::SUM_FUNC_ITEM) {
      auto &sum = *static_cast<Item_sum *>(item);
      if (sum.sum_func() != Item_sum::COUNT_FUNC || sum.get_arg_count() != 1 || sum.has_with_distinct() ||
          select.item_list.elements != 1)
        return WhyNot::wanted;
      wanted.what = FormWanted::What::count;
      FormValue counted;
      Item *of = sum.get_arg(0);
      const bool is_constant = value(of, counted) && counted.from != FormValue::From::argument;
      if (!is_constant && !column(of, wanted.column)) return WhyNot::wanted;
    } else if (item->type() == Item::NULL_ITEM) {
      wanted.what = FormWanted::What::null;
    } else {
      FormValue constant;
      if (item->type() != Item::CONST_ITEM || item->type_handler() == &type_handler_bool || !value(item, constant) ||
          constant.from != FormValue::From::integer)
        return WhyNot::wanted;
      wanted.what = FormWanted::What::constant;
      wanted.integer = constant.integer;
    }
    form_.wanted.push_back(std::move(wanted));
  }
  return std::nullopt;
}

bool Recogniser::parameter(const Item *item, FormValue &value) const {
  uint16_t at = 0;
  List_iterator_fast<Item_param> params(lex_.param_list);
  while (const Item *one = params++) {
    if (one == item) {
      value.from = FormValue::From::argument;
      value.argument = at;
      return true;
    }
    ++at;
  }
  return false;
}

bool Recogniser::value(Item *item, FormValue &value) const {
  // A parameter that had a value once reports itself as a constant.
  if (parameter(item, value)) return true;
  if (item->type() != Item::CONST_ITEM || !item->basic_const_item()) return false;
  switch (item->cmp_type()) {
    case INT_RESULT:
      // 0x41 and b'1' are integers or text, depending on the context.
      if (item->type_handler() == &type_handler_hex_hybrid) return false;
      value.from = FormValue::From::integer;
      value.integer = item->val_int();
      return !item->unsigned_flag || value.integer >= 0;
    case STRING_RESULT: {
      if (item->type_handler() == &type_handler_hex_hybrid) return false;
      if (item->collation.collation != thd_->variables.collation_connection) return false;
      String room;
      const String *text = item->val_str(&room);
      if (!text) return false;
      value.from = FormValue::From::text;
      value.text.assign(text->ptr(), text->length());
      return true;
    }
    case REAL_RESULT:
    case DECIMAL_RESULT:
    case ROW_RESULT:
    case TIME_RESULT: return false;
  }
  return false;
}

std::optional<WhyNot> Recogniser::read_order(SELECT_LEX &select) {
  if (select.order_list.elements > conditions_max) return WhyNot::too_much;
  for (const ORDER *one = select.order_list.first; one; one = one->next) {
    FormOrder order;
    Item *item = one->item_ptr ? one->item_ptr : *one->item;
    if (one->counter_used || !column(item, order.column)) return WhyNot::order;
    if (one->direction != ORDER::ORDER_ASC && one->direction != ORDER::ORDER_DESC) return WhyNot::order;
    order.descending = one->direction == ORDER::ORDER_DESC;
    // A bare name means an alias of the select list before it means a column.
    List_iterator_fast<Item> items(select.item_list);
    while (Item *wanted = items++) {
      if (!wanted->name.str || !same_column({wanted->name.str, wanted->name.length}, order.column)) continue;
      std::string meant;
      if (!column(wanted, meant) || !same_column(meant, order.column)) return WhyNot::order;
    }
    form_.order.push_back(std::move(order));
  }
  return std::nullopt;
}

std::optional<WhyNot> Recogniser::read_limit(SELECT_LEX &select) {
  const auto &limits = select.limit_params;
  if (limits.with_ties) return WhyNot::limit;
  if (limits.select_limit) {
    FormValue limit;
    if (!value(limits.select_limit, limit) || limit.from == FormValue::From::text) return WhyNot::limit;
    form_.limit = std::move(limit);
  }
  if (limits.offset_limit) {
    FormValue offset;
    if (!form_.limit || !value(limits.offset_limit, offset) || offset.from == FormValue::From::text)
      return WhyNot::limit;
    form_.offset = std::move(offset);
  }
  return std::nullopt;
}

std::optional<WhyNot> recognise(THD *thd, LEX &lex, ParsedText parsed, ReadForm &form) {
  form = {};
  return Recogniser(thd, lex, parsed, form).run();
}

}  // namespace postern::mariadb
