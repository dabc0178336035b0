#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/planned/planned_form.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/no_row_waits.h"
#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/mariadb/hosted/thd/statement_end.h"
#include "engine/mariadb/hosted/planned/forms/form_tables.h"
#include "engine/mariadb/hosted/planned/forms/form_views.h"
#include "engine/mariadb/hosted/reads/kept_table.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"
#include "engine/mariadb/hosted/reads/row_locks.h"
#include "engine/sql/plans/given_back.h"
#include "engine/sql/plans/plan_values.h"

namespace postern::mariadb {
namespace {

std::atomic<bool> on{false};
std::atomic<uint64_t> last_id{0};

sql::GivenBack forms_given_back;
constexpr uint32_t known_max = 32;
/// So many attempts may fail without a reason.
constexpr uint32_t unplanned_max = 32;

bool names_view(THD *thd, const FormParts &parts) {
  return std::ranges::any_of(parts.tables, [thd](const FormTable &one) {
    return is_view(thd, {one.database, one.table});
  });
}

}  // namespace

void plan_once(bool wanted) {
  on.store(wanted, std::memory_order_relaxed);
}

bool plans_once() {
  return on.load(std::memory_order_relaxed);
}

PlannedForm::PlannedForm(FormParts parts, const charset_info_st *collation)
    : parts_(std::move(parts)), collation_(collation), id_(last_id.fetch_add(1, std::memory_order_relaxed) + 1) {}

std::shared_ptr<const PlannedForm> PlannedForm::make(THD *thd, Bytes text, ParsedText parsed,
                                                     std::optional<WhyNot> &why) {
  if (!plans_once()) return nullptr;
  FormParts parts;
  const std::optional<WhyNot> unread = read_form(thd, text, parsed, parts);
  if (unread == WhyNot::command) return nullptr;
  why = unread;
  if (why) return nullptr;
  const charset_info_st *const collation = thd->variables.collation_connection;
  auto form = std::make_shared<PlannedForm>(std::move(parts), collation);
  bool opened = false;
  why = form->find_places(thd, opened);
  if (!opened && names_view(thd, form->parts_)) {
    parts = form->parts_;
    why = put_views(thd, parsed, parts);
    if (why) return nullptr;
    form = std::make_shared<PlannedForm>(std::move(parts), collation);
    why = form->find_places(thd, opened);
  }
  return !why ? form : nullptr;
}

std::optional<WhyNot> PlannedForm::look_at(std::span<const TABLE *const> tables) {
  for (const TABLE *const table : tables)
    if (const auto why = may_be_kept(*table)) return why;
  return std::nullopt;
}

/// Called before the form is shared. If the tables cannot be opened now every value shapes the plan.
std::optional<WhyNot> PlannedForm::find_places(THD *thd, bool &opened) {
  std::optional<WhyNot> why = std::nullopt;
  places_.resize(parts_.values.size());
  opened = look_at_tables(thd, parts_, [&](std::span<const TABLE *const> tables, uint64_t version) {
    why = look_at(tables);
    if (why) return;
    for (size_t i = 0; i < places_.size(); ++i) places_[i] = place_of(parts_.values[i], tables);
    note_version(version);
  });
  return why;
}

std::optional<WhyNot> PlannedForm::look(THD *thd) const {
  std::optional<WhyNot> why = std::nullopt;
  look_at_tables(thd, parts_, [&](std::span<const TABLE *const> tables, uint64_t version) {
    why = look_at(tables);
    note_version(version);
  });
  return why;
}

/// The first table, or the view that contains it.
StatementPlan::Table PlannedForm::table() const {
  int32_t view = parts_.tables[0].view;
  if (view < 0) return {parts_.tables[0].database, parts_.tables[0].table};
  while (parts_.views[static_cast<size_t>(view)].within >= 0) view = parts_.views[static_cast<size_t>(view)].within;
  const FormView &found = parts_.views[static_cast<size_t>(view)];
  return {found.database, found.table};
}

/// A column as a SELECT names it.
struct PlannedForm::Named {
  uint32_t select;
  const std::string &table;  // an alias; empty: none
  const std::string &column;

  bool may_be_of(const std::string &alias) const {
    return table.empty() || compat::same_name(table_alias_charset, table.c_str(), alias.c_str());
  }
};

/// In that SELECT alone. `doubtful`: set if there are several, or if it may be a column of something else.
const Field *PlannedForm::column_of(const Named &named, std::span<const TABLE *const> tables, bool &doubtful) const {
  const Field *found = nullptr;
  const auto note = [&](const Field *field) {
    doubtful = doubtful || found != nullptr || field == nullptr;
    found = field;
  };
  for (size_t i = 0; i < tables.size(); ++i) {
    const FormTable &table = parts_.tables[i];
    if (table.select != named.select || !named.may_be_of(table.alias)) continue;
    if (const uint16_t at = field_of(*tables[i], named.column); at != no_field) note(tables[i]->field[at]);
  }
  for (const FormDerived &derived : parts_.derived) {
    if (derived.select != named.select || !named.may_be_of(derived.alias)) continue;
    if (derived.columns.empty()) doubtful = true;
    for (const FormColumn &one : derived.columns) {
      if (!compat::same_name(system_charset_info, one.name.c_str(), named.column.c_str())) continue;
      note(one.column.empty() ? nullptr : column_of({derived.inner, one.table, one.column}, tables, doubtful));
    }
  }
  return found;
}

/// Looks in the SELECTs around that of the value, or in any other.
const Field *PlannedForm::column_elsewhere(const PlacedValue &value, std::span<const TABLE *const> tables,
                                           bool &doubtful) const {
  const Field *found = nullptr;
  for (size_t i = 0; i < tables.size(); ++i) {
    const FormTable &table = parts_.tables[i];
    if (table.select == value.select || !Named{value.select, value.table, value.column}.may_be_of(table.alias))
      continue;
    const uint16_t at = field_of(*tables[i], value.column);
    if (at == no_field) continue;
    doubtful = doubtful || found != nullptr;
    found = tables[i]->field[at];
  }
  return found;
}

/// Only if the column is unambiguous.
ValuePlace PlannedForm::place_of(const PlacedValue &value, std::span<const TABLE *const> tables) const {
  if (value.as == PlacedValue::As::limit) return {ValueUse::limit};
  if (value.as == PlacedValue::As::offset) return {ValueUse::offset};
  if (value.as == PlacedValue::As::calculated) return {ValueUse::sum};
  if (value.column.empty()) return {};
  bool doubtful = false;
  const Field *found = column_of({value.select, value.table, value.column}, tables, doubtful);
  if (found == nullptr && !doubtful) found = column_elsewhere(value, tables, doubtful);
  if (doubtful) return {};
  Exact exact{};
  if (found == nullptr || !exactness(*found, exact)) return {};
  // LIKE compares texts, and that of 2.5 in the column is 2.50.
  if (value.as == PlacedValue::As::pattern && exact != Exact::text) return {};
  switch (exact) {
    case Exact::integer: return {ValueUse::integer};
    case Exact::decimal: return {ValueUse::decimal};
    case Exact::text: return {ValueUse::text, found->charset()};
    case Exact::binary_fixed: return {ValueUse::text, found->charset(), found->char_length()};
    case Exact::date:
    case Exact::datetime: return {ValueUse::time};
    case Exact::uuid: return {ValueUse::uuid, &my_charset_latin1};
  }
  return {};
}

bool PlannedForm::is_granted(THD *thd) const {
  return may_read_tables(thd, parts_);
}

PlanFacts PlannedForm::facts() const {
  PlanFacts facts{.kind = "SELECT ONCE", .database = table().database, .table = table().name};
  const Known *const newest = known_.first();
  const char *const given_back = given_back_.load(std::memory_order_relaxed);
  facts.answers = newest != nullptr && newest->version == version() && given_back == nullptr;
  if (const Shown *const shown = shown_.first(); shown != nullptr) facts.index = shown->plan;
  add_facts(facts);
  if (given_back != nullptr) facts.left_for = given_back;
  return facts;
}

const PlannedForm::Known *PlannedForm::find(const AnswerShape &shape, Bytes values, bool rows) const {
  const Known *known = known_.first();
  while (known != nullptr &&
         !(known->version == version() && known->rows == rows && known->shape == shape && known->values == values))
    known = known->next;
  return known;
}

std::optional<NotNow> PlannedForm::may(THD *thd) const {
  if (is_client_of_cluster(thd)) return NotNow::galera;
  if (parts_.lock != FormLock::none && !may_lock_rows(thd)) return NotNow::locking;
  // The session may have changed since it prepared the statement.
  const bool alike = parts_.views.empty() || (parses_views(thd) && thd->variables.collation_connection == collation_);
  return alike ? std::nullopt : std::optional(NotNow::not_learnt);
}

std::optional<NotNow> PlannedForm::answer(const Asked &asked, const AnswerTools &tools, Output &output) const {
  if (!holds()) return NotNow::plan_off;
  if (!plans_once() || tools.plans == nullptr) return NotNow::plans_off;
  THD *const thd = asked.thd;
  ClientMetadata *const columns = asked.columns;
  if (given_back_.load(std::memory_order_relaxed) != nullptr) {
    if (asked_since_.fetch_add(1, std::memory_order_relaxed) == given_back_for_.load(std::memory_order_relaxed))
      switch_off("it is looked at anew");
    return NotNow::given_back;
  }
  static thread_local std::string shape;
  if (!shape_of(asked.statement.values, shape)) return NotNow::value;
  const AnswerShape answer_shape(thd, asked.prepared, columns != nullptr && columns->holds(thd));
  const Known *known = find(answer_shape, shape, true);
  if (known == nullptr) known = find(answer_shape, shape, false);
  if (known == nullptr) return NotNow::not_learnt;
  if (judge_.leaves_next()) return NotNow::compared;
  const std::optional<NotNow> why = execute_best(asked, *tools.plans, known, output);
  if (!why && columns != nullptr && !known->shape.without_metadata) {
    *columns = known->columns;
    columns->client = thd->variables.character_set_client;
  }
  return why;
}

/// The shape of a plan: the values that shape it, and `row_classes`, empty or those that it is made for. Valid until
/// the next call on this thread.
Bytes PlannedForm::shape_for(const Known &known, Bytes row_classes) {
  static thread_local std::string shape;
  shape = known.values;
  if (!row_classes.empty()) shape.append(1, '~').append(row_classes);
  return shape;
}

KeptPlan *PlannedForm::kept_for(THD *thd, KeptPlans &plans, const Known &known, Bytes row_classes) const {
  const PlanContext context(thd);
  return plans.find({id_, shape_for(known, row_classes), context}, known.version);
}

/// `row_classes`: empty, or those of the values. nullptr: `not_now`.
KeptPlan *PlannedForm::plan_for(THD *thd, KeptPlans &plans, const Statement &statement, const Known &known,
                                Bytes row_classes, NotNow &not_now) const {
  const PlanContext context(thd);
  const PlanKey key{id_, shape_for(known, row_classes), context};
  if (KeptPlan *const plan = plans.find(key, known.version); plan != nullptr) return plan;
  not_now = plans.admits() ? NotNow::table_busy : NotNow::plans_full;
  if (not_now == NotNow::plans_full) return nullptr;
  const std::string text = text_with(statement.values, thd, false);
  if (text.empty()) return nullptr;
  const std::string as_said = text_with(statement.values, thd, true);
  std::vector<ValuePlace> varying;
  for (size_t i = 0; i < places_.size(); ++i)
    if (!shapes(i, statement.values[i])) varying.push_back(places_[i]);
  const char *why = nullptr;
  KeptPlan *const plan = plans.make(key, thd,
                                    {.text = text,
                                     .as_said = as_said,
                                     .places = varying,
                                     .values = values_of(statement),
                                     .tables = parts_.tables,
                                     .views = parts_.views,
                                     .version = known.version,
                                     .lock = parts_.lock,
                                     .row_classes = row_classes},
                                    why);
  if (plan == nullptr) {
    const uint32_t times = unplanned_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (why != nullptr) give_back(why);
    else if (times == unplanned_max) give_back("its values, or its tables, cannot be planned with");
    return nullptr;
  }
  unplanned_.store(0, std::memory_order_relaxed);
  if (shown_.first() == nullptr) shown_.push(new Shown{plan->shown()});
  return plan;
}

/// Several threads may do so at the same time.
void PlannedForm::give_back(const char *why) const {
  const std::hash<Bytes> hash;
  if (given_back_.load(std::memory_order_relaxed) != nullptr) return;
  given_back_for_.store(forms_given_back.note(hash(parts_.text) ^ hash(table().database)), std::memory_order_relaxed);
  given_back_.store(why, std::memory_order_relaxed);
}

/// Executes by the plan of the form, or one for such values. The one that served similar values is tried first.
std::optional<NotNow> PlannedForm::execute_best(const Asked &asked, KeptPlans &plans, const Known *&known,
                                                Output &output) const {
  const Statement &statement = asked.statement;
  const uint64_t values = sql::hash_of_values(statement.values);
  if (judge_.is_heavy(values)) return NotNow::too_much;
  Executed executed;
  const std::string likely = row_classes_.of(values);
  if (KeptPlan *const plan = likely.empty() ? nullptr : kept_for(asked.thd, plans, *known, likely); plan != nullptr) {
    const std::optional<NotNow> why = execute(asked, plans, *plan, executed, known, output);
    if (executed.row_classes.empty()) {
      row_classes_.note(values, likely);
      return why;
    }
  }
  KeptPlan *other = executed.row_classes.empty() ? nullptr : kept_for(asked.thd, plans, *known, executed.row_classes);
  if (other == nullptr) {
    NotNow not_now{};
    KeptPlan *plan = plan_for(asked.thd, plans, statement, *known, {}, not_now);
    if (plan == nullptr) return not_now;
    executed = {};
    const std::optional<NotNow> why = execute(asked, plans, *plan, executed, known, output);
    if (!why) row_classes_.note(values, {});
    if (!why || executed.row_classes.empty()) return why;
    other = plan_for(asked.thd, plans, statement, *known, executed.row_classes, not_now);
    if (other == nullptr) return not_now;
    // Making it may have evicted others.
    plan = plan_for(asked.thd, plans, statement, *known, {}, not_now);
    if (plan != nullptr && plan != other && plan->shown() == other->shown()) {
      plan->serve(executed.row_classes);
      plans.drop(other);
      executed.row_classes.clear();
      other = plan;
    }
  }
  row_classes_.note(values, executed.row_classes);
  return execute(asked, plans, *other, executed, known, output);
}

/// Sets `known` to the one that the answer was made with.
std::optional<NotNow> PlannedForm::execute(const Asked &asked, KeptPlans &plans, KeptPlan &plan, Executed &executed,
                                           const Known *&known, Output &output) const {
  THD *const thd = asked.thd;
  const Statement &statement = asked.statement;
  const std::span<const Value> values = values_of(statement);
  bool drops = false;
  const Output::Mark start = output.mark();
  SessionStatement own(thd, asked.prepared);
  std::optional<NoRowWaits> no_waits;
  if (parts_.lock != FormLock::none) no_waits.emplace(thd);
  std::optional<sql::Packets> packets(std::in_place, output);
  const uint64_t read_before = thd->status_var.rows_read;
  std::optional<NotNow> why = NotNow::privilege;
  try {
    if (may_read_tables(thd, parts_)) {
      why = plan.execute(thd, values, asked.prepared, limits::find_rows_fast_max, known->answer, *packets, executed);
    }
    if (why == NotNow::too_much) judge_.note_heavy(sql::hash_of_values(statement.values));
    drops = is_bad(plan, why, thd->status_var.rows_read - read_before);
    if (!why && known->rows != (executed.sent != 0)) {
      known = find(known->shape, known->values, executed.sent != 0);
      if (known == nullptr || known->rows) why = NotNow::not_learnt;
      else put_other_head(thd, *known, output, start, packets);
    }
  } catch (const std::bad_alloc &) {
    why = NotNow::read_failed;
  }
  if (!why && (output.broken() || !own.commit())) why = NotNow::read_failed;
  if (why) {
    output.rewind_or_break(start);
    const bool lost = parts_.lock != FormLock::none && thd->transaction_rollback_request;
    if (lost) send_lost(thd, own, statement.packet.size(), output);
    else own.undo();
    if (drops || plan.spent()) plans.drop(&plan);
    return lost ? std::nullopt : why;
  }
  if (drops) plans.drop(&plan);
  thd->update_server_status();
  known->answer.put_end(*packets, static_cast<uint16_t>(thd->server_status));
  if (known->answer.columns_left_out()) ++thd->status_var.skip_metadata_count;
  compat::set_rows(thd, 0, 0);
  own.done(executed.examined, executed.sent, executed.found, statement.packet.size(), output.mark() - start);
  return std::nullopt;
}

/// Without rows the answer has a different head.
void PlannedForm::put_other_head(THD *thd, const Known &known, Output &output, size_t start,
                                 std::optional<sql::Packets> &packets) {
  output.rewind_or_break(start);
  packets.emplace(output);
  known.answer.put_head(*packets, static_cast<uint16_t>(thd->server_status));
}

/// A plan for all values may be bad for some. True: the plan has to be dropped.
bool PlannedForm::is_bad(const KeptPlan &plan, std::optional<NotNow> why, uint64_t rows_read) const {
  if (!why && plan.follows_values()) return false;
  if (why == NotNow::privilege || why == NotNow::table_busy || why == NotNow::value || why == NotNow::killed ||
      why == NotNow::row_locked)
    return false;
  const sql::PlanJudge::Verdict verdict = why ? judge_.note_undone() : judge_.note_answered(rows_read);
  if (verdict == sql::PlanJudge::Verdict::give_back)
    give_back(!why || why == NotNow::too_much ? "it reads many rows, or many more than by a plan for its values alone"
              : why == NotNow::locking        ? "it locks rows, and often finds none"
                                              : "its executions warn or fail");
  return verdict != sql::PlanJudge::Verdict::good;
}

void PlannedForm::learn(const Asked &asked, Bytes packets, uint64_t before) const {
  THD *const thd = asked.thd;
  const Statement &statement = asked.statement;
  AnswerShape shape(thd, asked.prepared);
  std::optional<sql::Answer> answer = sql::Answer::of(packets, shape.form);
  if (statement.values.size() != parts_.values.size() || given_back_.load(std::memory_order_relaxed) != nullptr) return;
  shape.without_metadata = answer && answer->columns_left_out();
  if (answer) judge_.note_server(asked.rows_read);
  const bool rows = thd->get_sent_row_count() != 0;
  std::string values;
  if (!shape_of(statement.values, values)) return;
  const bool looked = look_at_tables(thd, parts_, [&](std::span<const TABLE *const>, uint64_t found) {
    // Its values have no places if the tables could not be opened when it was made.
    if (found != version()) return switch_off("its tables were changed");
    if (found != before || !answer || find(shape, values, rows) != nullptr) return;
    if (known_count_.fetch_add(1, std::memory_order_relaxed) >= known_max)
      return give_back("its values shape too many plans");
    note_learnt();
    known_.push(new Known{shape, found, std::move(values), rows, std::move(*answer), *asked.columns});
  });
  // A view may read other tables by now.
  if (!looked && answer && !parts_.views.empty()) switch_off("its tables were changed");
}

}  // namespace postern::mariadb
