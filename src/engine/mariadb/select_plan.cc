#include "engine/mariadb/own_statement.h"

#include "engine/mariadb/select_plan.h"

#include <algorithm>
#include <utility>

#include "engine/mariadb/resolve_read.h"

namespace postern::mariadb {
namespace {

/// Where the server chose to look at every row of the table its answer may have come in another order.
constexpr uint16_t without_index = SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED;

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

AnswerShape::AnswerShape(const THD *thd, bool is_prepared)
    : results(thd->variables.character_set_results),
      form{.deprecate_eof = (thd->client_capabilities & CLIENT_DEPRECATE_EOF) != 0,
           .cache_metadata = (thd->client_capabilities & MARIADB_CLIENT_CACHE_METADATA) != 0,
           .extended = (thd->client_capabilities & MARIADB_CLIENT_EXTENDED_METADATA) != 0},
      prepared(is_prepared) {}

SelectPlan::~SelectPlan() {
  for (Known *known = known_.load(std::memory_order_acquire); known != nullptr;) {
    Known *const next = known->next;
    delete known;
    known = next;
  }
}

const SelectPlan::Known *SelectPlan::find(const AnswerShape &shape) const {
  const Known *known = known_.load(std::memory_order_acquire);
  while (known != nullptr && !(known->shape == shape)) known = known->next;
  return known;
}

NotNow SelectPlan::answer(THD *thd, OwnReads &reads, const Statement &statement, Output &output) const {
  if (!holds()) return NotNow::plan_off;
  const bool prepared = executes(statement.packet);
  const Known *const known = find(AnswerShape(thd, prepared));
  if (known == nullptr || known->version != version()) return NotNow::not_learnt;
  return reads.run(thd,
                   {.plan = plan_,
                    .read = known->read,
                    .table_version = known->version,
                    .answer = known->answer,
                    .values = statement.values,
                    .prepared = prepared,
                    .bytes_received = statement.packet.size()},
                   output);
}

WhyNot SelectPlan::look(THD *thd, TABLE_LIST *prepared) const {
  WhyNot why = WhyNot::planned;
  look_at_table(thd, plan_, [&](TABLE &table) {
    if (prepared != nullptr && !prepared->is_the_same_definition(thd, table.s)) return switch_off();
    ResolvedRead read;
    why = resolve(plan_, table, read);
    version_.store(table.s->get_table_ref_version(), std::memory_order_release);
  });
  return why;
}

void SelectPlan::learn(THD *thd, bool prepared, Bytes packets, uint64_t before) const {
  const AnswerShape shape(thd, prepared);
  std::optional<sql::Answer> answer = sql::Answer::of(packets, shape.form);
  // The first time that a statement is run its columns may be told, and never again.
  const bool of_first_run = answer && prepared && shape.form.cache_metadata && !answer->columns_left_out();
  look_at_table(thd, plan_, [&](TABLE &table) {
    ResolvedRead read;
    const uint64_t version = table.s->get_table_ref_version();
    if (names_ == Names::bound && version != version_.load(std::memory_order_acquire)) return switch_off();
    if (resolve(plan_, table, read) != WhyNot::planned) return switch_off();
    version_.store(version, std::memory_order_release);
    if (answer && answer->columns() != columns_of(plan_, read)) return switch_off();
    if (version != before || !answer || of_first_run || answer->status() & without_index) return;
    if (const Known *const known = find(shape); known != nullptr && known->version == version) return;
    if (known_count_.fetch_add(1, std::memory_order_relaxed) >= known_max) return switch_off();
    auto *const learnt = new Known{shape, version, std::move(read), std::move(*answer), known_.load()};
    while (!known_.compare_exchange_weak(learnt->next, learnt, std::memory_order_acq_rel)) {
    }
  });
}

}  // namespace postern::mariadb
