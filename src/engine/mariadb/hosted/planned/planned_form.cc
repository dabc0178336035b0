#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/planned/planned_form.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/basics/no_row_waits.h"
#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/mariadb/hosted/thd/statement_end.h"
#include "engine/mariadb/hosted/planned/form_tables.h"
#include "engine/mariadb/hosted/planned/form_views.h"
#include "engine/mariadb/hosted/planned/known_functions.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"
#include "engine/mariadb/hosted/reads/row_locks.h"
#include "engine/sql/given_back.h"
#include "engine/sql/plain_text.h"
#include "engine/sql/plan_values.h"

namespace postern::mariadb {
namespace {

std::atomic<bool> on{false};
std::atomic<uint64_t> last_id{0};

sql::GivenBack forms_given_back;
constexpr uint32_t known_max = 32;
/// So many attempts to plan it come to nothing without a reason.
constexpr uint32_t unplanned_max = 32;

/// Whether such a column may hold it exactly.
bool is_of_its_kind(const Value &value, ValueUse use) {
  const bool is_bytes = value.kind() == Value::Kind::bytes;
  const bool is_text = is_bytes && value.spelling() == Value::Spelling::text;
  Bytes inside;
  const bool is_written = is_bytes && value.spelling() == Value::Spelling::real;
  const sql::Written kind = is_written ? sql::written(value.bytes(), inside) : sql::Written::number;
  int64_t number = 0;
  switch (use) {
    case ValueUse::integer:
      return !value.is_null() && (!is_bytes || is_text || sql::is_integer_as_written(value, number));
    case ValueUse::decimal: return !value.is_null() && (!is_bytes || sql::is_decimal(value));
    case ValueUse::text:
      return is_text || kind == sql::Written::unicode || (is_bytes && value.spelling() == Value::Spelling::binary);
    case ValueUse::time: return is_text || kind == sql::Written::date || kind == sql::Written::timestamp;
    case ValueUse::sum: return !value.is_null() && !is_bytes;
    case ValueUse::shapes:
    case ValueUse::limit:
    case ValueUse::offset: break;
  }
  return true;
}

bool is_small(const Value &number) {
  if (number.kind() == Value::Kind::natural) return number.natural() < static_cast<uint64_t>(sum_operand_end);
  return number.integer() > -sum_operand_end && number.integer() < sum_operand_end;
}

sql::LiteralRules literal_rules_of(const THD *thd) {
  const CHARSET_INFO &client = *thd->variables.character_set_client;
  return {.any_byte = client.mbmaxlen == 1 || std::strncmp(client.cs_name.str, "utf8", 4) == 0,
          .backslash_escapes = (thd->variables.sql_mode & MODE_NO_BACKSLASH_ESCAPES) == 0};
}

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
    if (const auto why = may_be_planned(*table)) return why;
  return std::nullopt;
}

/// Before anybody else has it. Where the tables are not to be had just now every value is one that shapes the plan.
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

/// The first one, or the view that has it.
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

/// In the SELECTs around that of the value, or in any other one.
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

/// Only where there is no doubt which column is meant.
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
  switch (exact) {
    case Exact::integer: return {ValueUse::integer};
    case Exact::decimal: return {ValueUse::decimal};
    case Exact::text: return {ValueUse::text, found->charset()};
    case Exact::binary_fixed: return {};
    case Exact::date:
    case Exact::datetime: return {ValueUse::time};
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

/// A literal in a sum, but no parameter, may be something else than an integer.
bool PlannedForm::shapes(size_t at, const Value &value) const {
  const ValueUse use = places_[at].use;
  return use == ValueUse::shapes || (use == ValueUse::sum && parts_.literals && value.kind() == Value::Kind::bytes);
}

/// The values that shape the plan, in a form to be compared. False: one of them cannot be written.
bool PlannedForm::shape_of(std::span<const Value> values, std::string &shape) const {
  shape.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!shapes(i, values[i])) {
      if (!add_class(values, i, shape)) return false;
      continue;
    }
    const Value &value = values[i];
    shape += static_cast<char>(static_cast<int>(value.kind()) * 8 + static_cast<int>(value.spelling()));
    switch (value.kind()) {
      case Value::Kind::null: return false;
      case Value::Kind::integer: shape += std::to_string(value.integer()); break;
      case Value::Kind::natural: shape += std::to_string(value.natural()); break;
      case Value::Kind::bytes:
        shape.append(std::to_string(value.bytes().size())).append(1, ':').append(value.bytes());
        break;
    }
  }
  return true;
}

/// Adds the class of a value that varies to the shape: some classes are planned apart. False: the value has none.
bool PlannedForm::add_class(std::span<const Value> values, size_t at, std::string &shape) const {
  const Value &value = values[at];
  if (places_[at].use == ValueUse::limit) {
    const std::optional<uint64_t> rows = limit_in(values);
    if (rows) shape.append(1, 'L').append(std::to_string(sql::limit_class(*rows)));
    return rows.has_value();
  }
  if (!is_of_its_kind(value, places_[at].use)) return false;
  if (places_[at].use == ValueUse::sum) {
    if (!parts_.literals && !is_small(value)) return false;
    shape += value.kind() == Value::Kind::natural ? 'n' : 's';
  }
  const bool is_decimal = places_[at].use == ValueUse::decimal;
  if (is_decimal || places_[at].use == ValueUse::integer)
    shape += sql::is_beyond(value) ? 'U' : is_decimal && sql::is_decimal(value) ? 'D' : 'i';
  if (parts_.values[at].as != PlacedValue::As::pattern) return true;
  // One as it is written begins with a word.
  if (value.kind() != Value::Kind::bytes || value.bytes().empty() || value.spelling() == Value::Spelling::real)
    return false;
  // Only a pattern with a beginning is a range.
  shape += value.bytes()[0] == '%' || value.bytes()[0] == '_' ? '%' : 'P';
  return true;
}

/// Rows up to the last one that is wanted.
std::optional<uint64_t> PlannedForm::limit_in(std::span<const Value> values) const {
  uint64_t rows = 0;
  uint64_t offset = 0;
  for (size_t i = 0; i < values.size(); ++i)
    if ((places_[i].use == ValueUse::limit && !sql::is_row_count(values[i], rows)) ||
        (places_[i].use == ValueUse::offset && !sql::is_row_count(values[i], offset)))
      return std::nullopt;
  // Of none the server says that there is none before it looks.
  if (rows == 0) return std::nullopt;
  return rows + offset;
}

const PlannedForm::Known *PlannedForm::find(const AnswerShape &shape, Bytes values, bool rows) const {
  const Known *known = known_.first();
  while (known != nullptr &&
         !(known->version == version() && known->rows == rows && known->shape == shape && known->values == values))
    known = known->next;
  return known;
}

/// The text with the values that shape the plan; empty: one of them cannot be written.
std::string PlannedForm::text_with(std::span<const Value> values, const THD *thd) const {
  std::string text;
  size_t from = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!shapes(i, values[i])) continue;
    text.append(parts_.text, from, parts_.values[i].at - from);
    from = parts_.values[i].at + 1;
    if (!sql::append_literal(text, values[i], literal_rules_of(thd))) return {};
  }
  return text.append(parts_.text, from);
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
  const std::optional<NotNow> why = execute(asked, *tools.plans, known, output);
  if (!why && columns != nullptr && !known->shape.without_metadata) {
    *columns = known->columns;
    columns->client = thd->variables.character_set_client;
  }
  return why;
}

KeptPlan *PlannedForm::plan_for(THD *thd, KeptPlans &plans, const Statement &statement, const Known &known) const {
  const PlanContext context(thd);
  const PlanKey key{id_, known.values, context};
  if (KeptPlan *const plan = plans.find(key, known.version); plan != nullptr) return plan;
  const std::string text = text_with(statement.values, thd);
  if (text.empty()) return nullptr;
  std::vector<ValuePlace> varying;
  for (size_t i = 0; i < places_.size(); ++i)
    if (!shapes(i, statement.values[i])) varying.push_back(places_[i]);
  const char *why = nullptr;
  KeptPlan *const plan = plans.make(key, thd,
                                    {.text = text,
                                     .places = varying,
                                     .values = values_of(statement),
                                     .tables = parts_.tables,
                                     .views = parts_.views,
                                     .version = known.version,
                                     .lock = parts_.lock},
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

/// Threads may come to that at the same time.
void PlannedForm::give_back(const char *why) const {
  const std::hash<Bytes> hash;
  if (given_back_.load(std::memory_order_relaxed) != nullptr) return;
  given_back_for_.store(forms_given_back.note(hash(parts_.text) ^ hash(table().database)), std::memory_order_relaxed);
  given_back_.store(why, std::memory_order_relaxed);
}

/// Those that vary. Good until the next call on this thread.
std::span<const Value> PlannedForm::values_of(const Statement &statement) const {
  static thread_local std::vector<Value> values;
  values.clear();
  for (size_t i = 0; i < statement.values.size(); ++i)
    if (!shapes(i, statement.values[i])) values.push_back(statement.values[i]);
  return values;
}

/// `known` becomes the one by which it was answered.
std::optional<NotNow> PlannedForm::execute(const Asked &asked, KeptPlans &plans, const Known *&known,
                                           Output &output) const {
  THD *const thd = asked.thd;
  const Statement &statement = asked.statement;
  const uint64_t values_hash = sql::hash_of_values(statement.values);
  if (judge_.is_heavy(values_hash)) return NotNow::too_much;
  KeptPlan *const plan = plan_for(thd, plans, statement, *known);
  if (plan == nullptr) return NotNow::table_busy;
  const std::span<const Value> values = values_of(statement);
  bool drops = false;
  const Output::Mark start = output.mark();
  SessionStatement own(thd, asked.prepared);
  std::optional<NoRowWaits> no_waits;
  if (parts_.lock != FormLock::none) no_waits.emplace(thd);
  std::optional<sql::Packets> packets(std::in_place, output);
  Executed executed;
  const uint64_t read_before = thd->status_var.rows_read;
  std::optional<NotNow> why = NotNow::privilege;
  try {
    if (may_read_tables(thd, parts_)) {
      why = plan->execute(thd, values, asked.prepared, limits::find_rows_fast_max, known->answer, *packets, executed);
    }
    if (why == NotNow::too_much) judge_.note_heavy(values_hash);
    drops = is_bad(why, thd->status_var.rows_read - read_before);
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
    if (drops || plan->spent()) plans.drop(plan);
    return lost ? std::nullopt : why;
  }
  if (drops) plans.drop(plan);
  thd->update_server_status();
  known->answer.put_end(*packets, static_cast<uint16_t>(thd->server_status));
  if (known->answer.columns_left_out()) ++thd->status_var.skip_metadata_count;
  compat::set_rows(thd, 0, 0);
  own.done(executed.examined, executed.sent, executed.found, statement.packet.size(), output.mark() - start);
  return std::nullopt;
}

/// There are no rows, and the head for that is another one.
void PlannedForm::put_other_head(THD *thd, const Known &known, Output &output, size_t start,
                                 std::optional<sql::Packets> &packets) {
  output.rewind_or_break(start);
  packets.emplace(output);
  known.answer.put_head(*packets, static_cast<uint16_t>(thd->server_status));
}

/// Values may be such that a plan for all of them is a bad one for these. True: the plan is to be dropped.
bool PlannedForm::is_bad(std::optional<NotNow> why, uint64_t rows_read) const {
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
    // Its values have no places where the tables could not be opened when it was made.
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
