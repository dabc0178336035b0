#include "engine/mariadb/hosted/thd/own_statement.h"

#include "engine/mariadb/hosted/plans/select_plan.h"

#include <algorithm>
#include <utility>

#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/rows/resolve_read.h"

namespace postern::mariadb {
namespace {

constexpr unsigned char execute_command = COM_STMT_EXECUTE;

/// Behind the header of its first packet.
bool executes(Bytes packet) {
  return packet.size() > 4 && static_cast<unsigned char>(packet[4]) == execute_command;
}

size_t columns_of(const ReadPlan &plan, const ResolvedRead &read) {
  if (counts_rows(plan)) return 1;
  const auto constants = std::ranges::count(plan.wanted, PlanWanted::What::constant, &PlanWanted::what);
  return read.columns.size() + static_cast<size_t>(constants);
}

}  // namespace

const SelectPlan::Known *SelectPlan::find(const AnswerShape &shape) const {
  const Known *known = known_.first();
  while (known != nullptr && !(known->shape == shape)) known = known->next;
  return known;
}

PlanFacts SelectPlan::facts() const {
  PlanFacts facts{.kind = "SELECT", .database = plan_.database, .table = plan_.table};
  if (const Known *const newest = known_.first(); newest != nullptr) {
    facts.index = newest->index;
    facts.answers = newest->version == version();
  }
  add_facts(facts);
  return facts;
}

bool SelectPlan::is_granted(THD *thd) const {
  const TableNames names(plan_.database, plan_.table);
  TABLE_LIST list;
  name_table(thd, list, *names.database, *names.table, TL_READ);
  return OwnReads::may_read(thd, list, plan_);
}

NotNow SelectPlan::answer(THD *thd, OwnReads &reads, const Statement &statement, Output &output,
                          ColumnsTold *columns) const {
  if (!holds()) return NotNow::plan_off;
  const bool prepared = executes(statement.packet);
  const Known *const known = find(AnswerShape(thd, prepared, columns != nullptr && columns->holds(thd)));
  if (known == nullptr || known->version != version()) return NotNow::not_learnt;
  const NotNow why = reads.run(thd,
                               {.plan = plan_,
                                .read = known->read,
                                .table_version = known->version,
                                .answer = known->answer,
                                .values = statement.values,
                                .prepared = prepared,
                                .bytes_received = statement.packet.size()},
                               output);
  if (why == NotNow::answered && columns != nullptr && !known->shape.columns_told) {
    *columns = known->columns;
    columns->client = thd->variables.character_set_client;
  }
  return why;
}

WhyNot SelectPlan::look(THD *thd) const {
  WhyNot why = WhyNot::planned;
  look_at_table(thd, {plan_.database, plan_.table}, [&](TABLE &table) {
    ResolvedRead read;
    why = resolve(plan_, table, read);
    note_version(table.s->get_table_ref_version());
  });
  return why;
}

void SelectPlan::learn(THD *thd, bool prepared, Bytes packets, uint64_t before, const ColumnsTold &columns) const {
  AnswerShape shape(thd, prepared);
  std::optional<sql::Answer> answer = sql::Answer::of(packets, shape.form);
  shape.columns_told = answer && answer->columns_left_out();
  look_at_table(thd, {plan_.database, plan_.table}, [&](TABLE &table) {
    ResolvedRead read;
    const uint64_t version = table.s->get_table_ref_version();
    if (const WhyNot why = resolve(plan_, table, read); why != WhyNot::planned) return switch_off(words(why).data());
    note_version(version);
    if (answer && answer->columns() != columns_of(plan_, read))
      return switch_off("its answer has other columns than the table");
    if (version != before || !answer) return;
    if (answer->status() & without_index) return note_unlearnt(words_of_no_index);
    if (const Known *const known = find(shape); known != nullptr && known->version == version) return;
    if (!may_learn()) return;
    const char *const index = table.key_info[read.index].name.str;
    known_.push(new Known{shape, version, std::move(read), std::move(*answer), index, columns});
  });
}

}  // namespace postern::mariadb
