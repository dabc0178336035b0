#include "engine/mariadb/hosted/planned/forms/server.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "base/limits.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/planned/joins/equal_rows.h"
#include "engine/mariadb/hosted/planned/joins/join_plan.h"
#include "engine/mariadb/hosted/planned/joins/plan_checks.h"
#include "engine/mariadb/hosted/planned/joins/plan_context.h"

namespace postern::mariadb {
namespace {

constexpr const char *not_renewable = "a range that cannot be made anew";

/// Copies another THD's variables, except those with memory of their own.
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
  compat::keep_own_memory(taken, own);
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
    case JT_UNIQUE_SUBQUERY: return "unique_subquery";
    case JT_INDEX_SUBQUERY: return "index_subquery";
    default: return "?";
  }
}

/// Adds how rows of a table are found.
void show(const JOIN_TAB &tab, std::string &shown) {
  const QUICK_SELECT_I *const quick = ranges_of(tab);
  shown.append(tab.table->alias.ptr(), tab.table->alias.length()).append(1, ':');
  shown.append(quick != nullptr ? "range" : name_of(tab.type));
  const int key = quick != nullptr      ? static_cast<int>(quick->index)
                  : tab.type == JT_NEXT ? static_cast<int>(tab.index)
                                        : tab.ref.key;
  if (key < 0 || static_cast<uint>(key) >= tab.table->s->keys) return;
  shown.append(1, '(').append(tab.table->key_info[key].name.str).append(1, ')');
}

/// Later series may leave a whole UNION to a storage engine; InnoDB takes none.
template <class Unit>
bool is_left_to_engine(const Unit &unit) {
  if constexpr (requires { unit.pushdown_unit; }) return unit.pushdown_unit != nullptr;
  return false;
}

}  // namespace

PlanningCounts PlanningCounts::since(const PlanningCounts &before) const {
  PlanningCounts counts = *this;
  for (size_t i = 0; i < numbers.size(); ++i) counts.numbers[i] -= before.numbers[i];
  return counts;
}

namespace {

std::unique_ptr<JoinPlan> make_as_wanted(THD *home, THD *session, const ToBePlanned &what, const Accesses &wanted,
                                         JoinPlan::Hints hints, const char *&why) {
  using RangesOf = JoinPlan::RangesOf;
  // Where `t1.a = 7 AND t1.a = t2.a` is read by a range of t2.a, no condition on t2 alone has the value.
  for (const RangesOf ranges : {RangesOf::all, RangesOf::all_but_equal}) {
    why = nullptr;
    auto plan = std::make_unique<JoinPlan>(home, ranges);
    plan->want(wanted, hints);
    const bool made = plan->make(session, what, why);
    home->clear_error(true);
    home->get_stmt_da()->opt_clear_warning_info(home->query_id);
    if (made) return plan;
    if (why != not_renewable) break;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<KeptPlan> make_plan(THD *home, THD *session, const ToBePlanned &what, const char *&why) {
  using Hints = JoinPlan::Hints;
  const Accesses wanted = JoinPlan::accesses_as_said(home, session, what);
  if (!wanted.tables.empty() && !wanted.none) {
    for (const Hints hints : {Hints::indexes, Hints::indexes_by_force}) {
      std::unique_ptr<JoinPlan> plan = make_as_wanted(home, session, what, wanted, hints, why);
      if (plan != nullptr && plan->has_what_is_wanted()) return plan;
    }
  }
  return make_as_wanted(home, session, what, wanted, Hints::none, why);
}

Accesses JoinPlan::accesses_as_said(THD *home, THD *session, const ToBePlanned &what) {
  const bool compares = std::ranges::any_of(what.places, [](const ValuePlace &place) {
    return place.use != ValueUse::limit && place.use != ValueUse::offset && place.use != ValueUse::sum;
  });
  if (what.as_said.empty() || !compares || what.lock != FormLock::none) return {};
  ToBePlanned said = what;
  said.text = what.as_said;
  said.places = {};
  said.values = {};
  JoinPlan plan(home, RangesOf::all);
  plan.as_said_ = true;
  const char *why = nullptr;
  plan.make(session, said, why);
  home->clear_error(true);
  home->get_stmt_da()->opt_clear_warning_info(home->query_id);
  std::vector<TableAccess> accesses = plan.indexes_.take_accesses();
  const bool none = !accesses.empty() && is_found_by_index(*plan.joins_[0]);
  return {.tables = std::move(accesses), .none = none};
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
    if (!parse(what) || !values_.put_into(lex_, what)) why = "an error where it is planned";
    else if (as_said_ && !is_one_select()) why = nullptr;
    else made = tables_.open(lex_, what) && optimize(what, why);
    if (made) note_tables();
  } catch (const std::bad_alloc &) {
    made = false;
  }
  derived_.own(std::exchange(thd->derived_tables, nullptr));
  if (thd->lock != nullptr) PlanTables::unlock(thd);
  trans_commit_stmt(thd);
  thd->lex = lex;
  thd->restore_active_arena(&arena_, &backup);
  thd->pop_internal_handler();
  return made;
}

bool JoinPlan::parse(const ToBePlanned &what) {
  text_.assign(what.text);
  lock_ = what.lock;
  Parser_state state;
  if (state.init(home_, text_.data(), text_.size())) return false;
  state.m_lip.stmt_prepare_mode = true;
  state.m_lip.multi_statements = false;
  lex_start(home_);
  begun_ = true;
  return !parse_sql(home_, &state, nullptr) && !home_->is_error() && lex_.param_list.elements == what.places.size();
}

/// Derived tables and subqueries may be executed while a statement is planned.
bool JoinPlan::is_one_select() const {
  return lex_.all_selects_list != nullptr && lex_.all_selects_list->next_select_in_list() == nullptr;
}

/// For the server it is a SELECT that is executed for each outer row, or at least again. A UNION is always the former,
/// because only then the server empties its table.
void JoinPlan::make_repeatable() {
  is_union_ = lex_.unit.is_unit_op();
  const uint8 how = values_.varies() || is_union_ ? UNCACHEABLE_DEPENDENT_GENERATED : UNCACHEABLE_EXPLAIN;
  lex_.unit.uncacheable |= how;
  for (SELECT_LEX *one = lex_.unit.first_select(); one != nullptr; one = one->next_select()) {
    one->uncacheable |= how;
    Subqueries::depend(*one);
  }
}

bool JoinPlan::prepare() {
  THD *const thd = home_;
  SELECT_LEX_UNIT &unit = lex_.unit;
  SELECT_LEX &select = *unit.first_select();
  constexpr ulonglong options = SELECT_NO_UNLOCK | SELECT_NO_JOIN_CACHE;
  if (is_union_) {
    // The server reads it where it stops for too many rows, and only there.
    lex_.limit_rows_examined = new (thd->mem_root) Item_uint(thd, limits::find_rows_fast_max);
    if (lex_.limit_rows_examined == nullptr || unit.prepare(nullptr, sink_, options)) return false;
    for (SELECT_LEX *one = &select; one != nullptr; one = one->next_select()) joins_.push_back(one->join);
    return true;
  }
  auto *const join =
      new (thd->mem_root) JOIN(thd, select.item_list, select.options | thd->variables.option_bits | options, sink_);
  if (join == nullptr) return false;
  joins_.push_back(join);
  return !join->prepare(select.table_list.first, select.where, select.order_list.elements + select.group_list.elements,
                        select.order_list.first, false, select.group_list.first, select.having, nullptr, &select,
                        &unit);
}

bool JoinPlan::optimize(const ToBePlanned &what, const char *&why) {
  THD *const thd = home_;
  SELECT_LEX &select = *lex_.first_select_lex();
  SELECT_LEX_UNIT &unit = lex_.unit;
  make_repeatable();
  sink_ = new (thd->mem_root) RowSink(thd);
  if (sink_ == nullptr || !values_.take_limits(what.values, true)) return false;
  why = "an error where it is planned";
  unit.set_limit(unit.global_parameters());
  if (!DerivedTables::prepare(lex_)) return false;
  const PlanningCounts before(thd->status_var);
  thd->server_status &= ~uint{SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED};
  thd->query_plan_flags = QPLAN_INIT;
  if (!prepare() || !Subqueries::depend_on_outside(thd, select)) return false;
  if (!values_.find_columns()) {
    why = "a value that is not compared with a column as it is";
    return false;
  }
  why = nullptr;
  // The optimizer uses them only to estimate ranges.
  if (!values_.take(thd, what.values)) return false;
  const bool skips = (select.options & SELECT_DISTINCT) != 0 && select.limit_params.offset_limit != nullptr;
  if (skips && !is_union_ && may_be_equal(*joins_[0])) {
    why = "DISTINCT with an OFFSET, of rows that values may make all the same";
    return false;
  }
  if (!note_choices(what.row_classes)) {
    why = "MIN or MAX, which the server finds at an end of an index";
    return false;
  }
  indexes_.give_hints(tables_.all());
  if ((is_union_ ? unit.optimize() : joins_[0]->optimize() != 0) || thd->is_error()) return false;
  indexes_.note_accesses(tables_.all(), joins_);
  if (as_said_) return false;
  if (!subqueries_.note(thd, select, scratch_)) {
    why = "a subquery that is not known to be repeatable";
    return false;
  }
  for (const JOIN *const join : joins_) scratch_.note_sums(*join);
  if ((why = derived_.note(select, scratch_)) != nullptr) return false;
  for (JOIN *const join : joins_) ScratchTables::make_sort_keys(thd, *join);
  for (const DerivedTable &one : derived_.all()) ScratchTables::make_sort_keys(thd, *one.join);
  planning_ = PlanningCounts(thd->status_var).since(before);
  status_ = thd->server_status & (SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED);
  plan_flags_ = static_cast<uint>(thd->query_plan_flags);
  bool for_now = false;
  why = thd->get_stmt_da()->current_statement_warn_count() != 0 ? "a warning where it is planned" : check(for_now);
  return why == nullptr && !for_now;
}

/// Why it is not to be executed. `for_now`: set if it is not with these values.
const char *JoinPlan::check(bool &for_now) {
  if (const char *const why = refusal(); why != nullptr) return why;
  const auto is_empty = [](const JOIN *join) { return join->zero_result_cause != nullptr; };
  // There may be none for these values.
  for_now = values_.varies() &&
            std::ranges::any_of(joins_, [&](const JOIN *join) { return is_empty(join) && !is_never_true(*join); });
  if (for_now || std::ranges::all_of(joins_, is_empty)) return nullptr;
  return note_ranges() ? nullptr : not_renewable;
}

bool JoinPlan::note_choices(Bytes row_classes) {
  if (as_said_ || is_union_ || values_.empty() || !is_one_select() || lock_ != FormLock::none) return true;
  return indexes_.note(tables_.all(), values_.equal_columns(joins_[0]->conds), row_classes);
}

/// Refuses parts that a plan for several executions must not have.
const char *JoinPlan::refusal() const {
  for (const Subquery &one : subqueries_.all())
    if (const char *const why = refusal_of_subquery(one.join); why != nullptr) return why;
  for (const DerivedTable &one : derived_.all()) {
    if (one.join->zero_result_cause != nullptr) return "a derived table that the server knows before it reads a row";
    if (const char *const why = refusal_of(*one.join); why != nullptr) return why;
  }
  if (is_left_to_engine(lex_.unit)) return "a part that the storage engine does";
  if (keeps_rows() && lex_.unit.table->s->db_type() != heap_hton) return "a UNION that is kept on the disk";
  for (const JOIN *const join : joins_)
    if (const char *const why = refusal_of_whole(*join, values_.varies()); why != nullptr) return why;
  return lock_ == FormLock::none ? nullptr : refusal_of_locks(*joins_[0]);
}

/// False: one of them cannot be renewed.
bool JoinPlan::note_ranges() {
  if (!values_.varies()) return true;
  for (const Subquery &one : subqueries_.all())
    if (!ranges_.note(one.join)) return false;
  for (const DerivedTable &one : derived_.all())
    if (!ranges_.note(one.join)) return false;
  for (JOIN *const join : joins_)
    if (join->zero_result_cause == nullptr && !ranges_.note(join)) return false;
  return ranges_.empty() || ranges_.renew(home_);
}

void JoinPlan::note_tables() {
  for (const Subquery &one : subqueries_.all()) {
    for (const JOIN_TAB *tab = first_linear_tab(one.join, WITHOUT_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
         tab = next_linear_tab(one.join, const_cast<JOIN_TAB *>(tab), WITHOUT_BUSH_ROOTS)) {
      shown_ += "(";
      show(*tab, shown_);
      shown_ += ") ";
    }
  }
  for (const DerivedTable &one : derived_.all()) {
    shown_ += "(";
    note_tables_of(one.join);
    scratch_.note(one.list->table);
    shown_ += ") ";
  }
  for (JOIN *const join : joins_) {
    if (join != joins_[0]) shown_ += " union ";
    if (join->zero_result_cause != nullptr) shown_ += join->zero_result_cause;
    else note_tables_of(join);
  }
  for (JOIN *const join : joins_) scratch_.note_weeded_out(*join);
  for (const Subquery &one : subqueries_.all()) scratch_.note_weeded_out(*one.join);
  for (const DerivedTable &one : derived_.all()) scratch_.note_weeded_out(*one.join);
  tables_.note_figures();
  scratch_.limit_rows(tables_.all());
}

void JoinPlan::note_tables_of(JOIN *join) {
  const size_t before = shown_.size();
  for (const JOIN_TAB *tab = first_linear_tab(join, WITHOUT_BUSH_ROOTS, WITHOUT_CONST_TABLES); tab != nullptr;
       tab = next_linear_tab(join, const_cast<JOIN_TAB *>(tab), WITHOUT_BUSH_ROOTS)) {
    if (shown_.size() != before) shown_ += ' ';
    if (tab->aggr != nullptr) {
      scratch_.note(tab->table);
      shown_ += "temporary";
    } else {
      show(*tab, shown_);
    }
    if (tab->filesort == nullptr) continue;
    shown_ += "+sort";
    if (join == joins_[0] && tab->filesort->limit != HA_POS_ERROR && values_.limit_varies())
      values_.limit_sort(tab->filesort);
  }
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
    for (SELECT_LEX *one = lex_.all_selects_list; one != nullptr; one = one->next_select_in_list())
      one->uncacheable = one->master_unit()->uncacheable = 0;
    lex_.unit.cleanup();
    derived_.free(thd);
    delete_explain_query(&lex_);
    if (sink_ != nullptr) sink_->~RowSink();
    lex_end(&lex_);
    thd->lex = lex;
    thd->restore_active_arena(&arena_, &backup);
    arena_.free_items();
  }
  tables_.close();
  thd->clear_error(true);
}

}  // namespace postern::mariadb
