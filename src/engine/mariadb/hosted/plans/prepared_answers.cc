#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/plans/prepared_answers.h"

#include <optional>
#include <utility>

#include "engine/mariadb/hosted/plans/statement_plan.h"
#include "engine/mariadb/hosted/thd/session_statement.h"

namespace postern::mariadb {

const PreparedAnswer *PreparedAnswers::find(THD *thd, uint64_t version) const {
  const AnswerShape shape(thd, true);
  const PreparedAnswer *one = all_.first();
  while (one != nullptr && !(one->shape == shape)) one = one->next;
  return one != nullptr && one->deferred.version == version ? one : nullptr;
}

void PreparedAnswers::learn(const StatementPlan &plan, THD *thd, Bytes packets, uint64_t before,
                            const ClientMetadata &columns) {
  const AnswerShape shape(thd, true);
  std::optional<sql::PrepareAnswer> answer = sql::PrepareAnswer::of(packets, shape.form.deprecate_eof);
  if (!answer) return;
  const StatementPlan::Table names = plan.table();
  look_at_table(thd, {names.database, names.name}, [&](const TABLE &table) {
    const uint64_t found = table.s->get_table_ref_version();
    if (found != plan.version() || found != before || find(thd, found) != nullptr || !plan.may_learn()) return;
    const LEX_CUSTRING &definition = table.s->tabledef_version;
    const uint32_t listed = columns_listed_by(thd, answer->id());
    all_.push(
        new PreparedAnswer{shape,
                           std::move(*answer),
                           {found, definition_of({reinterpret_cast<const char *>(definition.str), definition.length}),
                            plan.values(), listed, columns}});
  });
}

}  // namespace postern::mariadb
