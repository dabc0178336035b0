#include "engine/mariadb/hosted/thd/session_statement.h"

#include "engine/mariadb/hosted/plans/select_plan.h"

#include <algorithm>
#include <utility>

#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/rows/resolve_read.h"

namespace postern::mariadb {
namespace {

constexpr unsigned char execute_command = COM_STMT_EXECUTE;

/// After the header of its first packet.
bool executes(Bytes packet) {
  return packet.size() > 4 && static_cast<unsigned char>(packet[4]) == execute_command;
}

size_t columns_of(const ReadForm &plan, const ResolvedRead &read) {
  if (counts_rows(plan)) return 1;
  const auto constants = std::ranges::count(plan.wanted, FormWanted::What::constant, &FormWanted::what);
  return read.columns.size() + static_cast<size_t>(constants);
}

}  // namespace

const SelectPlan::Learnt *SelectPlan::find(const AnswerShape &shape) const {
  const Learnt *known = learnt_.first();
  while (known != nullptr && !(known->shape == shape)) known = known->next;
  return known;
}

PlanFacts SelectPlan::facts() const {
  PlanFacts facts{.kind = "SELECT", .database = form_.database, .table = form_.table};
  if (const Learnt *const newest = learnt_.first(); newest != nullptr) {
    facts.index = newest->index;
    facts.answers = newest->version == version();
  }
  add_facts(facts);
  return facts;
}

bool SelectPlan::is_granted(THD *thd) const {
  const TableNames names(form_.database, form_.table);
  TABLE_LIST list;
  name_table(thd, list, *names.database, *names.table, TL_READ);
  return SessionReader::may_read(thd, list, form_);
}

std::optional<NotNow> SelectPlan::answer(THD *thd, ReadTools tools, const Statement &statement, Output &output,
                                         ClientMetadata *columns) const {
  if (!holds()) return NotNow::plan_off;
  const bool prepared = executes(statement.packet);
  const Learnt *const known = find(AnswerShape(thd, prepared, columns != nullptr && columns->holds(thd)));
  if (known == nullptr || known->version != version()) return NotNow::not_learnt;
  const std::optional<NotNow> why = tools.reads.run(thd,
                                                    {.form = form_,
                                                     .read = known->read,
                                                     .table_version = known->version,
                                                     .answer = known->answer,
                                                     .values = statement.values,
                                                     .prepared = prepared,
                                                     .bytes_received = statement.packet.size()},
                                                    output);
  if (!why && columns != nullptr && !known->shape.without_metadata) {
    *columns = known->columns;
    columns->client = thd->variables.character_set_client;
  }
  return why;
}

std::optional<WhyNot> SelectPlan::look(THD *thd) const {
  std::optional<WhyNot> why;
  look_at_table(thd, {form_.database, form_.table}, [&](TABLE &table) {
    ResolvedRead read;
    why = resolve(form_, table, read);
    note_version(table.s->get_table_ref_version());
  });
  return why;
}

void SelectPlan::learn(THD *thd, const Statement &statement, Bytes packets, uint64_t before,
                       const ClientMetadata &columns) const {
  AnswerShape shape(thd, executes(statement.packet));
  std::optional<sql::Answer> answer = sql::Answer::of(packets, shape.form);
  shape.without_metadata = answer && answer->columns_left_out();
  look_at_table(thd, {form_.database, form_.table}, [&](TABLE &table) {
    ResolvedRead read;
    const uint64_t version = table.s->get_table_ref_version();
    if (const auto why = resolve(form_, table, read)) return switch_off(words(*why).data());
    note_version(version);
    if (answer && answer->columns() != columns_of(form_, read))
      return switch_off("its answer has other columns than the table");
    if (version != before || !answer) return;
    if (answer->status() & without_index) return note_unlearnt(words_of_no_index);
    if (const Learnt *const known = find(shape); known != nullptr && known->version == version) return;
    if (!may_learn()) return;
    const char *const index = table.key_info[read.index].name.str;
    learnt_.push(new Learnt{shape, version, std::move(read), std::move(*answer), index, columns});
  });
}

}  // namespace postern::mariadb
