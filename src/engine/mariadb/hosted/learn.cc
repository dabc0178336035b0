#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/learn.h"

#include <memory>
#include <optional>

#include "engine/mariadb/hosted/planned/planned_form.h"
#include "engine/mariadb/hosted/plans/either_plan.h"
#include "engine/mariadb/hosted/reads/select_plan.h"
#include "engine/mariadb/hosted/plans/statement_plan.h"
#include "engine/mariadb/hosted/writes/write_plan.h"
#include "engine/mariadb/hosted/prepared_statements.h"
#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/thd/lex_of_text.h"
#include "engine/mariadb/hosted/thd/not_now.h"

namespace postern::mariadb {
namespace {

using MadePlan = std::shared_ptr<const StatementPlan>;

/// One function for each class of statements, on the server's parse tree. It returns a plan, or sets the reason that
/// there is none; it sets nothing for a statement of another class.
constexpr MadePlan (*recognisers[])(THD *, LEX &, ParsedText, std::optional<WhyNot> &) = {SelectPlan::recognise,
                                                                                          WritePlan::recognise};

/// Requires a parse tree that the server has not changed by preparing or executing it.
MadePlan recognise_any(THD *thd, LEX *lex, ParsedText parsed, std::optional<WhyNot> &why) {
  why = lex != nullptr ? WhyNot::command : WhyNot::syntax;
  if (lex == nullptr) return nullptr;
  for (const auto recognise : recognisers)
    if (MadePlan plan = recognise(thd, *lex, parsed, why); plan != nullptr) return plan;
  return nullptr;
}

/// Completes a plan. A text without a plan, or rows that its plan leaves, may be planned once; if neither works, that
/// reason is reported.
MadePlan finish(THD *thd, MadePlan plan, Bytes text, ParsedText parsed, std::optional<WhyNot> &why) {
  if (plan != nullptr) why = plan->look(thd);
  if (why) return PlannedForm::make(thd, text, parsed, why);
  if (plan == nullptr || !plan->leaves_some()) return plan;
  std::optional<WhyNot> not_planned;
  MadePlan planned = PlannedForm::make(thd, text, parsed, not_planned);
  if (planned == nullptr) return plan;
  return std::make_shared<const EitherPlan>(std::move(plan), std::move(planned));
}

/// A text with a ? for each value.
MadePlan plan_of_text(THD *thd, Bytes text, ParsedText parsed, std::optional<WhyNot> &why) {
  MadePlan plan;
  {
    const LexOfText parse(thd, text);  // nobody else may use the THD meanwhile
    plan = recognise_any(thd, parse.lex(), parsed, why);
  }
  return finish(thd, std::move(plan), text, parsed, why);
}

uint32_t id_at(Bytes bytes, size_t at) {
  return bytes.size() < at + 4 ? 0 : uint4korr(reinterpret_cast<const uchar *>(bytes.data() + at));
}

/// The id of the new statement in the answer to PREPARE, after the 0 that means success. 0: it has failed.
uint32_t id_of_new(Bytes answer) {
  return answer.size() <= header_bytes || answer[header_bytes] != 0 ? 0 : id_at(answer, header_bytes + 1);
}

/// Whether the server reads the parameters of an execution: not after long data that it could not take.
bool has_bound(THD *thd, uint32_t id) {
  const ::Statement *const prepared = id == last_prepared ? thd->last_stmt : thd->stmt_map.find(id);
  return prepared != nullptr && prepared->state != Query_arena::STMT_ERROR;
}

/// Notes why there is no plan, and in which database, for INFORMATION_SCHEMA.
void note_reason(THD *thd, std::optional<WhyNot> why, Learnt &learnt) {
  if (why) learnt.why_not = words(*why);
  learnt.of_table = why && is_of_table(*why);
  if (thd->db.str != nullptr) learnt.database.assign(thd->db.str, thd->db.length);
}

/// Notes that this session teaches nothing, until another session tries.
void note_session(THD *thd, uint8_t command, Bytes answer, NotNow why, Learnt &learnt) {
  if (command == COM_STMT_PREPARE) {
    const ::Statement *const made = thd->stmt_map.find(id_of_new(answer));
    if (made == nullptr || made->lex == nullptr) return;
    learnt.statement_id = static_cast<uint32_t>(made->id);
    learnt.parameters = made->lex->param_list.elements;
  }
  learnt.final = learnt.of_session = true;
  learnt.why_not = words(why);
  if (thd->db.str != nullptr) learnt.database.assign(thd->db.str, thd->db.length);
}

/// `answer`: the server's to a statement of this text with its values in it.
void learn_text(THD *thd, const Statement &statement, Bytes text, ParsedText parsed, Bytes answer, uint64_t rows_read,
                Learnt &learnt) {
  std::optional<WhyNot> why;
  const MadePlan plan = plan_of_text(thd, text, parsed, why);
  ClientMetadata columns;
  const Asked asked{.thd = thd,
                    .mysys = nullptr,
                    .statement = statement,
                    .prepared = false,
                    .columns = &columns,
                    .rows_read = rows_read};
  if (plan != nullptr && !answer.empty()) plan->learn(asked, answer, 0);
  learnt.plan = plan;
  learnt.final = true;
  note_reason(thd, why, learnt);
}

void learn_prepared(THD *thd, const Statement &statement, Bytes answer, Learnt &learnt) {
  const uint32_t id = id_of_new(answer);
  const ::Statement *const prepared = id != 0 ? thd->stmt_map.find(id) : nullptr;
  if (prepared == nullptr || prepared->lex == nullptr) return;
  learnt.statement_id = id;
  learnt.parameters = prepared->lex->param_list.elements;
  if (statement.has_no_plan) return;
  // The server has replaced a star by the table's present columns, and repeats that after DDL.
  const Bytes text = statement.packet.substr(header_bytes + 1);
  const bool sends_rows = prepared->lex->sql_command == SQLCOM_SELECT || prepared->lex->has_returning();
  if (sends_rows && text.find('*') != Bytes::npos)
    return learn_text(thd, statement, text, ParsedText::own, {}, 0, learnt);
  std::optional<WhyNot> why;
  MadePlan plan = recognise_any(thd, prepared->lex, ParsedText::own, why);
  learnt.plan = finish(thd, std::move(plan), text, ParsedText::own, why);
  learnt.final = learnt.plan == nullptr;
  note_reason(thd, why, learnt);
}

/// The statement that was prepared has its number in the answer.
void learn_answer(THD *thd, PreparedStatements &prepared, const Statement &statement, Bytes answer, uint64_t version,
                  uint64_t rows_read, Learnt &learnt) {
  const StatementPlan &plan = *plan_of(statement);
  const uint8_t command = command_of(statement.packet);
  uint32_t id = statement_id(statement.packet);
  if (command == COM_STMT_PREPARE) {
    id = id_of_new(answer);
    if (id == 0) return;
    learnt.statement_id = id;
  }
  ClientMetadata columns = command != COM_QUERY ? ClientMetadata::of(thd, id) : ClientMetadata{};
  if (command == COM_STMT_PREPARE) {
    plan.learn_prepared(thd, answer, version, columns);
  } else {
    const bool executed = command == COM_STMT_EXECUTE;
    plan.learn({.thd = thd,
                .mysys = nullptr,
                .statement = statement,
                .prepared = executed,
                .columns = &columns,
                .rows_read = rows_read},
               answer, version);
  }
  // A failed statement may not have reached the table.
  if (command == COM_QUERY || thd->is_error()) return;
  const uint64_t met = plan.version() == version ? version : 0;
  if (command == COM_STMT_EXECUTE) prepared.note_version(thd, statement.packet, met);
  else prepared.note_version(id, met);
}

}  // namespace

bool wants_answer(const Statement &statement) {
  const uint8_t command = command_of(statement.packet);
  return statement.plan != nullptr || !statement.form.empty() || command == COM_STMT_PREPARE ||
         command == COM_CHANGE_USER;
}

Learnt learn(THD *thd, PreparedStatements &prepared, const Statement &statement, Bytes answer, uint64_t version,
             uint64_t rows_read) {
  Learnt learnt;
  const uint8_t command = command_of(statement.packet);
  if (command == COM_QUERY && !wants_answer(statement)) return learnt;
  if (command == COM_STMT_BULK_EXECUTE && (thd->client_capabilities & MARIADB_CLIENT_STMT_BULK_OPERATIONS) != 0)
    learnt.statement_id = statement_id(statement.packet);
  if (command == COM_STMT_BULK_EXECUTE) prepared.forget_version(thd, statement.packet);
  if (command != COM_QUERY && command != COM_STMT_PREPARE && command != COM_STMT_EXECUTE) return learnt;
  if (command == COM_STMT_EXECUTE && has_bound(thd, statement_id(statement.packet)))
    learnt.statement_id = statement_id(statement.packet);
  const std::optional<NotNow> why = session_allows(thd);
  // An observer of statements does not change the meaning: the form and the reason should be shown.
  const bool only_seen = why && is_of_watchers(*why) && !thd->has_thd_temporary_tables() && statement.plan == nullptr;
  if (why && !only_seen) {
    // It may have met a temporary table, and be back with the other one later, which is as it was.
    if (command != COM_QUERY) prepared.forget_version(thd, statement.packet);
    if (statement.plan == nullptr) note_session(thd, command, answer, *why, learnt);
    return learnt;  // there will be another time
  }
  if (const StatementPlan *const plan = plan_of(statement); plan != nullptr) {
    const bool looks = plan->holds() && (!plan->rests() || plan->looks_while_resting());
    if (looks) learn_answer(thd, prepared, statement, answer, version, rows_read, learnt);
    return learnt;
  }
  // The conditions of an executed prepared statement were changed, and point to freed memory: only its text is usable.
  if (command == COM_STMT_PREPARE) {
    learn_prepared(thd, statement, answer, learnt);
  } else if (!statement.form.empty()) {
    const bool text = command == COM_QUERY;
    learn_text(thd, statement, statement.form, text ? ParsedText::form : ParsedText::own, text ? answer : Bytes(),
               rows_read, learnt);
  }
  return learnt;
}

}  // namespace postern::mariadb
