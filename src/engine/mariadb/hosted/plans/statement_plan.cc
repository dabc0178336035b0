#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/plans/statement_plan.h"

#include <optional>
#include <utility>

#include "engine/mariadb/hosted/thd/session_statement.h"

namespace postern::mariadb {
namespace {

/// More would mean a table that is altered all the time, or clients of ever other forms.
constexpr uint32_t known_max = 32;

}  // namespace

bool StatementPlan::may_learn() const {
  if (known_count_.fetch_add(1, std::memory_order_relaxed) < known_max) {
    note_learnt();
    return true;
  }
  switch_off("its table was changed often, or its answers were asked for in many forms");
  return false;
}

std::string_view StatementPlan::off() const {
  const char *const why = off_.load(std::memory_order_relaxed);
  return why != nullptr ? why : std::string_view();
}

void StatementPlan::add_facts(PlanFacts &facts) const {
  facts.off = off();
  facts.left = left_.load(std::memory_order_relaxed);
  facts.rests = rests();
  const std::optional<NotNow> why = left_for_.load(std::memory_order_relaxed);
  const char *const unlearnt = unlearnt_.load(std::memory_order_relaxed);
  // A reason that it has learnt from since is not shown.
  if (why && (why != NotNow::not_learnt || facts.rests)) facts.left_for = words(*why);
  else if (!facts.answers && unlearnt != nullptr) facts.left_for = unlearnt;
  else if (!facts.answers && why == NotNow::not_learnt) facts.left_for = words(*why);
}

const StatementPlan::Prepared *StatementPlan::prepared(THD *thd) const {
  const AnswerShape shape(thd, true);
  const Prepared *prepared = prepared_.first();
  while (prepared != nullptr && !(prepared->shape == shape)) prepared = prepared->next;
  return prepared != nullptr && prepared->deferred.version == version() ? prepared : nullptr;
}

void StatementPlan::learn_prepared(THD *thd, Bytes packets, uint64_t before, const ClientMetadata &columns) const {
  const AnswerShape shape(thd, true);
  std::optional<sql::PrepareAnswer> answer = sql::PrepareAnswer::of(packets, shape.form.deprecate_eof);
  if (!answer) return;
  const Table names = this->table();
  look_at_table(thd, {names.database, names.name}, [&](const TABLE &table) {
    const uint64_t found = table.s->get_table_ref_version();
    if (found != version() || found != before || prepared(thd) != nullptr || !may_learn()) return;
    const LEX_CUSTRING &definition = table.s->tabledef_version;
    const uint32_t listed = columns_listed_by(thd, answer->id());
    prepared_.push(
        new Prepared{shape,
                     std::move(*answer),
                     {found, definition_of({reinterpret_cast<const char *>(definition.str), definition.length}),
                      values(), listed, columns}});
  });
}

}  // namespace postern::mariadb
