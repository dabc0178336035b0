#include "engine/mariadb/hosted/planned/server.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/planned/form_tables.h"
#include "engine/mariadb/hosted/planned/join_plan.h"
#include "engine/mariadb/hosted/planned/session_items.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"

namespace postern::mariadb {
namespace {

constexpr const char *not_renewable = "a range that cannot be made anew";

/// The variables of another THD, but for what each has in memory of its own.
void take_variables(THD *thd, const THD *from) {
  const system_variables own = thd->variables;
  system_variables &taken = thd->variables;
  taken = from->variables;
  taken.dynamic_variables_version = own.dynamic_variables_version;
  taken.dynamic_variables_ptr = own.dynamic_variables_ptr;
  taken.dynamic_variables_head = own.dynamic_variables_head;
  taken.dynamic_variables_size = own.dynamic_variables_size;
  taken.table_plugin = own.table_plugin;
  taken.tmp_table_plugin = own.tmp_table_plugin;
  taken.enforced_table_plugin = own.enforced_table_plugin;
  taken.default_master_connection = own.default_master_connection;
  taken.session_track_system_variables = own.session_track_system_variables;
  taken.option_bits &= ~ulonglong{OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN};
  taken.lock_wait_timeout = 0;
  taken.optimizer_switch &= ~switches_off;
  thd->update_charset();
}

const char *name_of(join_type type) {
  switch (type) {
    case JT_EQ_REF: return "eq_ref";
    case JT_REF: return "ref";
    case JT_REF_OR_NULL: return "ref_or_null";
    case JT_RANGE: return "range";
    case JT_NEXT: return "index";
    case JT_ALL: return "ALL";
    default: return "?";
  }
}

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

}  // namespace

size_t PlanMemory::bytes() const {
  size_t sum = 0;
  for (const USED_MEM *const first : {root.free, root.used})
    for (const USED_MEM *block = first; block != nullptr; block = block->next) sum += block->size;
  return sum;
}

PlanningCounts PlanningCounts::since(const PlanningCounts &before) const {
  PlanningCounts counts = *this;
  for (size_t i = 0; i < numbers.size(); ++i) counts.numbers[i] -= before.numbers[i];
  return counts;
}

void PlanningCounts::add_to(STATUS_VAR &counts) const {
  counts.select_full_join_count_ += numbers[0];
  counts.select_full_range_join_count_ += numbers[1];
  counts.select_range_count_ += numbers[2];
  counts.select_range_check_count_ += numbers[3];
  counts.select_scan_count_ += numbers[4];
}

std::unique_ptr<KeptPlan> make_plan(THD *home, THD *session, const ToBePlanned &what, const char *&why) {
  using RangesOf = JoinPlan::RangesOf;
  // Where `t1.a = 7 AND t1.a = t2.a` is read by a range of t2.a, no condition on t2 alone has the value.
  for (const RangesOf ranges : {RangesOf::all, RangesOf::all_but_equal}) {
    why = nullptr;
    auto plan = std::make_unique<JoinPlan>(home, ranges);
    const bool made = plan->make(session, what, why);
    home->clear_error(true);
    home->get_stmt_da()->opt_clear_warning_info(home->query_id);
    if (made) return plan;
    if (why != not_renewable) break;
  }
  return nullptr;
}

bool JoinPlan::make(THD *session, const ToBePlanned &what, const char *&why) {
  THD *const thd = home_;
  Query_arena backup;
  Dummy_error_handler silence;
  thd->push_internal_handler(&silence);
  take_variables(thd, session);
  if (session->db.str != nullptr) thd->set_db(&session->db);
  thd->reset_for_next_command();
  thd->set_time();
  thd->set_query_id(next_query_id());
  thd->set_n_backup_active_arena(&arena_, &backup);
  LEX *const lex = std::exchange(thd->lex, &lex_);
  bool made = false;
  try {
    if (!parse(what) || !put_values(what)) why = "an error where it is planned";
    else made = open(what) && optimize(what, why);
    if (made) note_tables();
  } catch (const std::bad_alloc &) {
    made = false;
  }
  if (thd->lock != nullptr) {
    mysql_unlock_tables(thd, thd->lock);
    thd->lock = nullptr;
  }
  trans_commit_stmt(thd);
  thd->lex = lex;
  thd->restore_active_arena(&arena_, &backup);
  thd->pop_internal_handler();
  return made;
}

bool JoinPlan::parse(const ToBePlanned &what) {
  text_.assign(what.text);
  Parser_state state;
  if (state.init(home_, text_.data(), text_.size())) return false;
  state.m_lip.stmt_prepare_mode = true;
  state.m_lip.multi_statements = false;
  lex_start(home_);
  begun_ = true;
  return !parse_sql(home_, &state, nullptr) && !home_->is_error() && lex_.param_list.elements == what.places.size();
}

bool JoinPlan::put_values(const ToBePlanned &what) {
  List_iterator_fast<Item_param> params(lex_.param_list);
  for (const ValuePlace &place : what.places) {
    places_.push_back(params++);
    ValueItem *const value = ValueItem::make(home_, place, what.values[values_.size()]);
    if (value == nullptr) return false;
    values_.push_back({.value = value, .use = place.use});
  }
  SELECT_LEX &select = *lex_.first_select_lex();
  if (select.where != nullptr && (select.where = put_values_in(select.where)) == nullptr) return false;
  if (!put_values_in(*select.join_list) || !put_values_in_answer(select)) return false;
  put_limits();
  lex_.param_list.empty();
  return true;
}

/// The select list, the order and the groups have no values that vary but those of the session.
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
  }
  return item;
}

Item *JoinPlan::note_session(ValueItem *value) {
  if (value == nullptr) return nullptr;
  session_.push_back(value);
  return value->item();
}

/// Whether it is calculated of the session's values and constants alone. `any`: set if one of the former is in it.
bool JoinPlan::is_of_session(Item *item, bool &any) const {
  if (item->type() == Item::CONST_ITEM) return true;
  if (item->type() != Item::FUNC_ITEM) return false;
  if (std::ranges::any_of(session_, [item](ValueItem *one) { return one->item() == item; })) return any = true;
  auto &function = *static_cast<Item_func *>(item);
  for (uint i = 0; i < function.argument_count(); ++i)
    if (!is_of_session(function.arguments()[i], any)) return false;
  return true;
}

/// The function itself, if none of its arguments is a value.
Item *JoinPlan::make_ranged_of(Item_func &function) {
  std::vector<ValueItem *> found;
  for (uint i = 0; i < function.argument_count(); ++i) {
    Item *&argument = function.arguments()[i];
    for (const Compared &one : values_)
      if (one.value->item() == argument) found.push_back(one.value);
    bool any = false;
    if (!is_compared_in_ranges(function) || !is_of_session(argument, any) || !any) continue;
    ValueItem *const value = make_session_value(home_, *argument);
    if (value == nullptr) return nullptr;
    argument = value->item();
    found.push_back(value);
  }
  if (found.empty()) return &function;
  if (ranges_of_ == RangesOf::all_but_equal && function.functype() == Item_func::EQ_FUNC) return &function;
  const size_t bytes = found.size() * sizeof found[0];
  auto *const kept = static_cast<ValueItem **>(home_->memdup(found.data(), bytes));
  if (kept == nullptr) return nullptr;
  ValueList *list = nullptr;
  Item *const ranged = make_ranged(home_, function, {kept, found.size()}, list);
  if (list != nullptr) lists_.push_back(list);
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
    if (table->nested_join != nullptr && !put_values_in(table->nested_join->join_list)) return false;
  }
  return true;
}

/// Each table has a metadata lock of its own, so that plans can be given up one by one.
bool JoinPlan::open(const ToBePlanned &what) {
  THD *const thd = home_;
  std::vector<const TABLE *> opened;
  for (TABLE_LIST *list = lex_.query_tables; list != nullptr; list = list->next_global) {
    list->required_type = TABLE_TYPE_NORMAL;
    list->open_type = OT_BASE_ONLY;
    list->lock_type = TL_READ;
    MDL_REQUEST_INIT(&list->mdl_request, MDL_key::TABLE, list->db.str, list->table_name.str, MDL_SHARED_READ,
                     MDL_EXPLICIT);
    Open_table_context context(thd, open_flags_without_waiting);
    const bool failed = open_table(thd, list, &context) || list->table == nullptr;
    if (list->mdl_request.ticket != nullptr) tickets_.push_back(list->mdl_request.ticket);
    if (failed) return false;
    // What sessions may read is looked at for each execution.
    list->grant.privilege = list->table->grant.privilege = SELECT_ACL;
    list->table->pos_in_table_list = list;
    list->table->reginfo.lock_type = TL_READ;
    tables_.push_back(list->table);
    opened.push_back(list->table);
    if (may_be_planned(*list->table)) return false;
  }
  opened_ = true;
  if (version_of_tables(opened) != what.version) return false;
  thd->lock = mysql_lock_tables(thd, tables_.data(), static_cast<uint>(tables_.size()), 0);
  return thd->lock != nullptr;
}

bool JoinPlan::optimize(const ToBePlanned &what, const char *&why) {
  THD *const thd = home_;
  SELECT_LEX &select = *lex_.first_select_lex();
  SELECT_LEX_UNIT &unit = lex_.unit;
  const bool values_vary = varies();
  if (values_vary) {
    select.uncacheable |= UNCACHEABLE_DEPENDENT_GENERATED;
    unit.uncacheable |= UNCACHEABLE_DEPENDENT_GENERATED;
  } else {
    // It is executed again, but depends on nothing.
    select.uncacheable |= UNCACHEABLE_EXPLAIN;
    unit.uncacheable |= UNCACHEABLE_EXPLAIN;
  }
  sink_ = new (thd->mem_root) RowSink(thd);
  if (sink_ == nullptr || !take_limits(what.values, true)) return false;
  why = "an error where it is planned";
  unit.set_limit(unit.global_parameters());
  const PlanningCounts before(thd->status_var);
  thd->server_status &= ~uint{SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED};
  thd->query_plan_flags = QPLAN_INIT;
  join_ = new (thd->mem_root)
      JOIN(thd, select.item_list, select.options | thd->variables.option_bits | SELECT_NO_UNLOCK | SELECT_NO_JOIN_CACHE,
           sink_);
  if (join_ == nullptr) return false;
  if (join_->prepare(select.table_list.first, select.where, select.order_list.elements + select.group_list.elements,
                     select.order_list.first, false, select.group_list.first, select.having, nullptr, &select, &unit))
    return false;
  if (!take_first_values(what, why)) return false;
  if (join_->optimize() || thd->is_error()) return false;
  planning_ = PlanningCounts(thd->status_var).since(before);
  status_ = thd->server_status & (SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED);
  plan_flags_ = static_cast<uint>(thd->query_plan_flags);
  why = thd->get_stmt_da()->current_statement_warn_count() != 0 ? "a warning where it is planned" : refusal();
  if (why != nullptr) return false;
  // There may be none for these values.
  if (join_->zero_result_cause != nullptr) return !values_vary || is_never_true();
  if (note_ranges()) return true;
  why = not_renewable;
  return false;
}

/// By them the optimizer estimates ranges. They are of no consequence otherwise.
bool JoinPlan::take_first_values(const ToBePlanned &what, const char *&why) {
  SELECT_LEX &select = *lex_.first_select_lex();
  const bool found = (select.where == nullptr || find_columns(select.where)) &&
                     find_columns_of_joins(*select.join_list) && std::ranges::all_of(values_, [](const Compared &one) {
                       return one.field != nullptr || one.use == ValueUse::limit || one.use == ValueUse::offset;
                     });
  why = found ? nullptr : "a value that is not compared with a column as it is";
  return found && take_values(home_, what.values);
}

/// Whatever its values are.
bool JoinPlan::is_never_true() const {
  return std::strcmp(join_->zero_result_cause, "Impossible WHERE") == 0;
}

/// What must not be in a plan that is executed more than once, at different times.
const char *JoinPlan::refusal() const {
  if (join_->zero_result_cause != nullptr)
    return !varies() && !is_never_true() ? "a result that the server knows before it reads a row" : nullptr;
  // Those that the result does not depend on are constant, and are not read.
  if (join_->tables_list == nullptr || join_->const_table_map != join_->eliminated_tables || join_->table_count == 0 ||
      join_->const_tables == join_->table_count || join_->join_tab == nullptr)
    return "a row that is read where it is planned";
  if (join_->pushdown_query != nullptr || join_->procedure != nullptr) return "a part that the storage engine does";
  for (const JOIN_TAB *tab = first_linear_tab(join_, WITH_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(join_, const_cast<JOIN_TAB *>(tab), WITH_BUSH_ROOTS)) {
    if (tab->aggr != nullptr) continue;
    if (const char *const why = refusal_of(*tab); why != nullptr) return why;
  }
  return nullptr;
}

const char *JoinPlan::refusal_of(const JOIN_TAB &tab) {
  switch (tab.type) {
    case JT_EQ_REF:
    case JT_REF:
    case JT_REF_OR_NULL:
    case JT_RANGE:
    case JT_NEXT:
    case JT_ALL: break;
    default: return "a way to find rows that is not known to be repeatable";
  }
  if (tab.table == nullptr || tab.bush_children != nullptr || tab.bush_root_tab != nullptr ||
      tab.check_weed_out_table != nullptr || tab.flush_weedout_table != nullptr)
    return "rows that are kept for the whole statement";
  if (tab.rowid_filter != nullptr || tab.range_rowid_filter_info != nullptr) return "a filter of rowids";
  if (tab.cache != nullptr) return "a join buffer";
  if (tab.use_quick == 2) return "a range that is looked for with each row";
  if (tab.loosescan_match_tab != nullptr || tab.do_firstmatch != nullptr) return "a semi-join";
  for (QUICK_SELECT_I *const quick :
       {tab.quick, tab.select != nullptr ? tab.select->quick : nullptr,
        tab.filesort != nullptr && tab.filesort->select != nullptr ? tab.filesort->select->quick : nullptr})
    if (quick != nullptr && quick->get_type() != QUICK_SELECT_I::QS_TYPE_RANGE &&
        quick->get_type() != QUICK_SELECT_I::QS_TYPE_RANGE_DESC)
      return "several ranges in one";
  return nullptr;
}

/// The columns that values are compared with, as the server has found them.
bool JoinPlan::find_columns(Item *item) {
  if (item->type() == Item::COND_ITEM) {
    List_iterator_fast<Item> all(*static_cast<Item_cond *>(item)->argument_list());
    while (Item *one = all++)
      if (!find_columns(one)) return false;
    return true;
  }
  if (item->type() != Item::FUNC_ITEM) return true;
  auto &function = *static_cast<Item_func *>(item);
  for (uint i = 0; i < function.argument_count(); ++i)
    if (!find_columns(function.arguments()[i])) return false;
  return note_comparison(function);
}

bool JoinPlan::find_columns_of_joins(List<TABLE_LIST> &joined) {
  List_iterator_fast<TABLE_LIST> tables(joined);
  while (TABLE_LIST *table = tables++) {
    if (table->on_expr != nullptr && !find_columns(table->on_expr)) return false;
    if (table->nested_join != nullptr && !find_columns_of_joins(table->nested_join->join_list)) return false;
  }
  return true;
}

bool JoinPlan::note_comparison(Item_func &function) {
  Field *field = nullptr;
  bool any = false;
  for (uint i = 0; i < function.argument_count(); ++i) {
    Item *const one = function.arguments()[i];
    if (std::ranges::any_of(values_, [one](const Compared &value) { return value.value->item() == one; })) any = true;
    else if (Item *const real = one->real_item(); real->type() == Item::FIELD_ITEM && field == nullptr)
      field = static_cast<Item_field *>(real)->field;
    else field = nullptr;
  }
  if (!any) return true;
  Exact exact{};
  if (field == nullptr || !exactness(*field, exact)) return false;
  for (uint i = 0; i < function.argument_count(); ++i)
    for (Compared &value : values_)
      if (value.value->item() == function.arguments()[i]) {
        value.field = field;
        value.exact = exact;
      }
  return true;
}

void JoinPlan::note_tables() {
  if (join_->zero_result_cause != nullptr) {
    shown_ = join_->zero_result_cause;
    return;
  }
  const bool varies_limit =
      std::ranges::any_of(values_, [](const Compared &one) { return one.use == ValueUse::limit; });
  for (const JOIN_TAB *tab = first_linear_tab(join_, WITHOUT_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(join_, const_cast<JOIN_TAB *>(tab), WITHOUT_BUSH_ROOTS)) {
    if (!shown_.empty()) shown_ += ' ';
    if (tab->aggr != nullptr) {
      scratch_.push_back(tab->table);
      shown_ += "temporary";
    } else {
      note_table(*tab);
    }
    if (tab->filesort == nullptr) continue;
    shown_ += "+sort";
    if (varies_limit && tab->filesort->limit != HA_POS_ERROR) limited_sorts_.push_back(tab->filesort);
  }
}

void JoinPlan::note_table(const JOIN_TAB &tab) {
  const SQL_SELECT *const select = tab.filesort != nullptr ? tab.filesort->select : tab.select;
  const QUICK_SELECT_I *const quick = select != nullptr && tab.type == JT_ALL ? select->quick : nullptr;
  shown_.append(tab.table->alias.ptr(), tab.table->alias.length()).append(1, ':');
  shown_.append(quick != nullptr ? "range" : name_of(tab.type));
  const int key = quick != nullptr      ? static_cast<int>(quick->index)
                  : tab.type == JT_NEXT ? static_cast<int>(tab.index)
                                        : tab.ref.key;
  if (key < 0 || static_cast<uint>(key) >= tab.table->s->keys) return;
  shown_.append(1, '(').append(tab.table->key_info[key].name.str).append(1, ')');
}

JoinPlan::~JoinPlan() {
  close();
}

void JoinPlan::close() {
  THD *const thd = home_;
  if (begun_) {
    Query_arena backup;
    thd->set_n_backup_active_arena(&arena_, &backup);
    LEX *const lex = std::exchange(thd->lex, &lex_);
    lex_.first_select_lex()->uncacheable = 0;
    lex_.unit.uncacheable = 0;
    lex_.unit.cleanup();
    delete_explain_query(&lex_);
    if (sink_ != nullptr) sink_->~RowSink();
    lex_end(&lex_);
    thd->lex = lex;
    thd->restore_active_arena(&arena_, &backup);
    arena_.free_items();
  }
  for (TABLE *const table : tables_) {
    if (table->file->keyread_enabled()) table->file->ha_end_keyread();
    TABLE **at = &thd->open_tables;
    while (*at != table) at = &(*at)->next;
    close_thread_table(thd, at);
  }
  for (MDL_ticket *const ticket : tickets_) thd->mdl_context.release_lock(ticket);
  thd->clear_error(true);
}

}  // namespace postern::mariadb
