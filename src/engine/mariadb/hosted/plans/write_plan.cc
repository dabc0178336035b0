#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/plans/write_plan.h"

#include <string_view>

#include "engine/mariadb/hosted/rows/change_answer.h"
#include "engine/mariadb/hosted/thd/own_statement.h"
#include "engine/mariadb/hosted/rows/resolve_change.h"
#include "engine/sql/ok_packet.h"

namespace postern::mariadb {
namespace {

std::string_view words_of(const ChangePlan &plan) {
  switch (plan.what) {
    case ChangePlan::What::update: return "UPDATE";
    case ChangePlan::What::erase: return "DELETE";
    case ChangePlan::What::insert: return plan.duplicate == ChangePlan::Duplicate::replace ? "REPLACE" : "INSERT";
  }
  return {};
}

/// Whether what the session was warned of is rows that were passed over, and nothing else.
bool are_of_duplicates(THD *thd, uint16_t warnings) {
  Diagnostics_area::Sql_condition_iterator conditions = thd->get_stmt_da()->sql_conditions();
  while (const Sql_condition *const one = conditions++) {
    if (one->get_sql_errno() != ER_DUP_ENTRY || warnings-- == 0) return false;
  }
  return warnings == 0;
}

}  // namespace

const WritePlan::Known *WritePlan::known(const std::optional<AnswerShape> &shape) const {
  const Known *known = known_.first();
  while (known != nullptr && known->shape && known->shape != shape) known = known->next;
  return known;
}

PlanFacts WritePlan::facts() const {
  PlanFacts facts{.kind = words_of(plan_), .database = plan_.rows.database, .table = plan_.rows.table};
  if (const Known *const newest = known_.first(); newest != nullptr) {
    facts.index = newest->index;
    facts.answers = newest->version == version();
  }
  add_facts(facts);
  return facts;
}

bool WritePlan::is_granted(THD *thd) const {
  return may_change(thd, plan_);
}

WhyNot WritePlan::look(THD *thd) const {
  WhyNot why = WhyNot::planned;
  look_at_table(thd, {plan_.rows.database, plan_.rows.table}, [&](TABLE &table) {
    ResolvedChange change;
    why = resolve_change(plan_, table, change);
    note_version(table.s->get_table_ref_version());
  });
  return why;
}

void WritePlan::learn(THD *thd, bool prepared, Bytes packets, uint64_t before) const {
  if (plan_.returns()) {
    AnswerShape shape(thd, prepared);
    std::optional<sql::Answer> answer = sql::Answer::of(packets, shape.form);
    if (!answer) return;
    if (answer->status() & without_index) return note_unlearnt(words_of_no_index);
    shape.columns_told = answer->columns_left_out();
    // Else the server may have told of the columns of another definition.
    if (before == version()) learn_definition(thd, shape, std::move(answer));
    return;
  }
  const std::optional<sql::OkPacket> ok = sql::OkPacket::of(packets);
  if (!ok) return;
  if (ok->status & without_index) return note_unlearnt(words_of_no_index);
  if (ok->warnings != 0 && (plan_.duplicate != ChangePlan::Duplicate::ignore || !are_of_duplicates(thd, ok->warnings)))
    return note_unlearnt("the server has warned of what it did, each time so far");
  learn_definition(thd, {}, {});
}

void WritePlan::learn_definition(THD *thd, const std::optional<AnswerShape> &shape,
                                 std::optional<sql::Answer> answer) const {
  const uint64_t before = version();
  look_at_table(thd, {plan_.rows.database, plan_.rows.table}, [&](TABLE &table) {
    const uint64_t version = table.s->get_table_ref_version();
    note_version(version);
    if (shape && version != before) return;
    if (const Known *const newest = known(shape); newest != nullptr && newest->version == version) return;
    ResolvedChange change;
    if (const WhyNot why = resolve_change(plan_, table, change); why != WhyNot::planned)
      return switch_off(words(why).data());
    if (answer && answer->columns() != change.rows.columns.size())
      return switch_off("its answer has other columns than the table");
    if (!may_learn()) return;
    const bool finds = plan_.what != ChangePlan::What::insert;
    const char *const index = finds ? table.key_info[change.rows.index].name.str : "";
    known_.push(new Known{version, std::move(change), index, shape, std::move(answer)});
  });
}

}  // namespace postern::mariadb
