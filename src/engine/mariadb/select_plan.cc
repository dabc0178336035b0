#include "engine/mariadb/own_statement.h"

#include "engine/mariadb/select_plan.h"

#include <algorithm>
#include <utility>

#include "engine/mariadb/resolve_read.h"

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
  if (const char *const why = off_.load(std::memory_order_relaxed); why != nullptr) facts.off = why;
  return facts;
}

const SelectPlan::Told *SelectPlan::told(THD *thd) const {
  const AnswerShape shape(thd, true);
  const Told *told = told_.first();
  while (told != nullptr && !(told->shape == shape)) told = told->next;
  return told != nullptr && told->promised.version == version() ? told : nullptr;
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
  look_at_table(thd, plan_, [&](TABLE &table) {
    ResolvedRead read;
    why = resolve(plan_, table, read);
    version_.store(table.s->get_table_ref_version(), std::memory_order_release);
  });
  return why;
}

bool SelectPlan::may_learn() const {
  if (known_count_.fetch_add(1, std::memory_order_relaxed) < known_max) return true;
  switch_off("its table was changed often, or its answers were asked for in many forms");
  return false;
}

void SelectPlan::learn(THD *thd, bool prepared, Bytes packets, uint64_t before, const ColumnsTold &columns) const {
  AnswerShape shape(thd, prepared);
  std::optional<sql::Answer> answer = sql::Answer::of(packets, shape.form);
  shape.columns_told = answer && answer->columns_left_out();
  look_at_table(thd, plan_, [&](TABLE &table) {
    ResolvedRead read;
    const uint64_t version = table.s->get_table_ref_version();
    if (const WhyNot why = resolve(plan_, table, read); why != WhyNot::planned) return switch_off(words(why).data());
    version_.store(version, std::memory_order_release);
    if (answer && answer->columns() != columns_of(plan_, read))
      return switch_off("its answer has other columns than the table");
    if (version != before || !answer || answer->status() & without_index) return;
    if (const Known *const known = find(shape); known != nullptr && known->version == version) return;
    if (!may_learn()) return;
    const char *const index = table.key_info[read.index].name.str;
    known_.push(new Known{shape, version, std::move(read), std::move(*answer), index, columns});
  });
}

void SelectPlan::learn_told(THD *thd, Bytes packets, uint64_t before, const ColumnsTold &columns) const {
  const AnswerShape shape(thd, true);
  std::optional<sql::PrepareAnswer> answer = sql::PrepareAnswer::of(packets, shape.form.deprecate_eof);
  if (!answer) return;
  look_at_table(thd, plan_, [&](const TABLE &table) {
    const uint64_t version = table.s->get_table_ref_version();
    if (version == version_.load(std::memory_order_acquire) && version == before && told(thd) == nullptr && may_learn())
      told_.push(new Told{shape,
                          std::move(*answer),
                          {version,
                           definition_of({reinterpret_cast<const char *>(table.s->tabledef_version.str),
                                          table.s->tabledef_version.length}),
                           columns}});
  });
}

}  // namespace postern::mariadb
