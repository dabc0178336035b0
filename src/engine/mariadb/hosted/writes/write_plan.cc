#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/writes/write_plan.h"

#include <algorithm>
#include <string_view>

#include "engine/mariadb/hosted/writes/change_answer.h"
#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/mariadb/hosted/writes/shared_writes.h"
#include "engine/mariadb/hosted/writes/recognise_change.h"
#include "engine/mariadb/hosted/writes/resolve_change.h"
#include "engine/mariadb/hosted/writes/session_write.h"
#include "engine/sql/packets/ok_packet.h"

namespace postern::mariadb {
namespace {

std::string_view words_of(const ChangeForm &plan) {
  switch (plan.what) {
    case ChangeForm::What::update: return "UPDATE";
    case ChangeForm::What::erase: return "DELETE";
    case ChangeForm::What::insert: return plan.duplicate == ChangeForm::Duplicate::replace ? "REPLACE" : "INSERT";
  }
  return {};
}

/// The thread's, for the memory it keeps.
SessionWriter &session_writer() {
  static thread_local SessionWriter writes;
  return writes;
}

/// Whether the session's warnings are all about rows that were passed over.
bool are_of_duplicates(THD *thd, uint16_t warnings) {
  Diagnostics_area::Sql_condition_iterator conditions = thd->get_stmt_da()->sql_conditions();
  while (const Sql_condition *const one = conditions++) {
    if (one->get_sql_errno() != ER_DUP_ENTRY || warnings-- == 0) return false;
  }
  return warnings == 0;
}

bool reads_variables(const ChangeForm &form) {
  const auto any = [](const std::vector<FormValue> &values) { return std::ranges::any_of(values, is_of_session); };
  return std::ranges::any_of(form.new_rows, any) ||
         std::ranges::any_of(form.rows.conditions, any, &FormCondition::values) ||
         std::ranges::any_of(form.assignments, is_of_session, &FormAssignment::value);
}

}  // namespace

WritePlan::WritePlan(ChangeForm form) : form_(std::move(form)), is_of_variables_(reads_variables(form_)) {}

std::shared_ptr<const StatementPlan> WritePlan::recognise(THD *thd, LEX &lex, ParsedText /*parsed*/,
                                                          std::optional<WhyNot> &why) {
  if (lex.sql_command == SQLCOM_SELECT) return nullptr;
  ChangeForm form;
  why = recognise_change(thd, lex, form);
  return why ? nullptr : std::make_shared<const WritePlan>(std::move(form));
}

const WritePlan::Learnt *WritePlan::known(const std::optional<AnswerShape> &shape) const {
  const Learnt *known = learnt_.first();
  while (known != nullptr && known->shape && known->shape != shape) known = known->next;
  return known;
}

PlanFacts WritePlan::facts() const {
  PlanFacts facts{.kind = words_of(form_), .database = form_.rows.database, .table = form_.rows.table};
  if (const Learnt *const newest = learnt_.first(); newest != nullptr) {
    facts.index = newest->index;
    facts.answers = newest->version == version();
  }
  add_facts(facts);
  return facts;
}

bool WritePlan::is_granted(THD *thd) const {
  return may_change(thd, form_);
}

std::optional<WhyNot> WritePlan::look(THD *thd) const {
  std::optional<WhyNot> why;
  const TableNames names(form_.rows.database, form_.rows.table);
  const bool opened = look_at_table(thd, names, [&](TABLE &table) {
    ResolvedChange change;
    why = resolve_change(form_, table, change);
    note_version(table.s->get_table_ref_version());
  });
  return !opened && is_view(thd, names) ? WhyNot::view : why;
}

/// All that does not depend on the statement's values.
std::optional<NotNow> WritePlan::may(THD *thd) const {
  if (const auto why = session_writes(thd)) return why;
  // For ON DUPLICATE KEY UPDATE the server marks every column as changed.
  const bool turns = form_.what == ChangeForm::What::insert && form_.changes_old_rows();
  return turns && thd->variables.binlog_row_image != BINLOG_ROW_IMAGE_FULL ? std::optional(NotNow::binary_log)
                                                                           : std::nullopt;
}

/// In the session's own transaction; where it has none, in one with other sessions.
std::optional<NotNow> WritePlan::answer(const Asked &asked, const AnswerTools &tools, Output &output) const {
  if (!holds()) return NotNow::plan_off;
  THD *const thd = asked.thd;
  std::optional<AnswerShape> shape;
  if (asked.columns == nullptr || asked.columns->holds(thd))
    shape.emplace(thd, asked.prepared, asked.columns != nullptr);
  const Learnt *const learnt = known(shape);
  if (learnt == nullptr) return NotNow::not_learnt;
  if (!thd->in_multi_stmt_transaction_mode()) {
    if (is_of_variables_) return NotNow::own_values;
    if (const auto why = session_shares(thd)) return why;
    if (!may_change(thd, form_)) return NotNow::privilege;
    tools.shared->take(asked, *tools.op, *this, *learnt);
    return std::nullopt;
  }
  // In a transaction of one statement nobody can distinguish the locks.
  if (learnt->change.may_lock_others) return NotNow::other_index;
  return session_writer().run(thd,
                              {.form = form_,
                               .change = learnt->change,
                               .answer = learnt->answer ? &*learnt->answer : nullptr,
                               .table_version = learnt->version,
                               .values = asked.statement.values,
                               .prepared = asked.prepared,
                               .bytes_received = asked.statement.packet.size()},
                              output, *tools.counters);
}

void WritePlan::learn(const Asked &asked, Bytes packets, uint64_t before) const {
  THD *const thd = asked.thd;
  if (form_.returns()) {
    AnswerShape shape(thd, asked.prepared);
    std::optional<sql::Answer> answer = sql::Answer::of(packets, shape.form);
    if (!answer) return;
    if (answer->status() & without_index) return note_unlearnt(words_of_no_index);
    shape.without_metadata = answer->columns_left_out();
    // Else the server may have sent the columns of another definition.
    if (before == version()) learn_definition(thd, shape, std::move(answer));
    return;
  }
  const std::optional<sql::OkPacket> ok = sql::OkPacket::of(packets);
  if (!ok) return;
  if (ok->status & without_index) return note_unlearnt(words_of_no_index);
  if (ok->warnings != 0 && !has_only_notes(thd) &&
      (form_.duplicate != ChangeForm::Duplicate::ignore || !are_of_duplicates(thd, ok->warnings)))
    return note_unlearnt("the server has warned of what it did, each time so far");
  learn_definition(thd, {}, {});
}

void WritePlan::learn_definition(THD *thd, const std::optional<AnswerShape> &shape,
                                 std::optional<sql::Answer> answer) const {
  const uint64_t before = version();
  look_at_table(thd, {form_.rows.database, form_.rows.table}, [&](TABLE &table) {
    const uint64_t version = table.s->get_table_ref_version();
    note_version(version);
    if (shape && version != before) return;
    if (const Learnt *const newest = known(shape); newest != nullptr && newest->version == version) return;
    ResolvedChange change;
    if (const auto why = resolve_change(form_, table, change)) return switch_off(words(*why).data());
    if (answer && answer->columns() != change.rows.columns.size())
      return switch_off("its answer has other columns than the table");
    if (!may_learn()) return;
    const bool finds = form_.what != ChangeForm::What::insert;
    const char *const index = finds ? table.key_info[change.rows.index].name.str : "";
    learnt_.push(new Learnt{version, std::move(change), index, shape, std::move(answer)});
  });
}

}  // namespace postern::mariadb
