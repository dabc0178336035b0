// write_plan.h: WritePlan, the plan for writes of one form, which run together with those of other sessions in one
// transaction of the worker (shared_writes.h).
//
// The columns and the key belong to a definition of the table. They are learnt while the server serves a statement, and
// so is whether the server would scan the whole table, which the client sees in the status. With RETURNING the bytes of
// answers are learnt, too, as in select_plan.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/thd/answer_shape.h"
#include "engine/mariadb/hosted/writes/change_form.h"
#include "engine/mariadb/hosted/reads/recognise.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/plans/statement_plan.h"
#include "engine/mariadb/hosted/plans/why_not.h"
#include "engine/sql/packets/answer.h"

class THD;
struct LEX;

namespace postern::mariadb {

/// Shared by threads; nothing in it blocks. Everything learnt lives as long as the plan.
class WritePlan final : public StatementPlan {
 public:
  /// Learnt for one definition of the table: TABLE_SHARE::get_table_ref_version().
  struct Learnt {
    uint64_t version;
    ResolvedChange change;
    std::string index;
    std::optional<AnswerShape> shape{};   // of one with RETURNING
    std::optional<sql::Answer> answer{};  // likewise
    Learnt *next = nullptr;
  };

  /// Makes the plan for an UPDATE, DELETE, INSERT or REPLACE from the server's parse tree. nullptr: `why` is set, or
  /// unchanged if it is another kind of statement.
  static std::shared_ptr<const StatementPlan> recognise(THD *thd, LEX &lex, ParsedText parsed,
                                                        std::optional<WhyNot> &why);

  explicit WritePlan(ChangeForm form);

  uint32_t values() const override { return form_.rows.arguments; }
  bool writes() const override { return true; }
  bool sends_rows() const override { return form_.returns(); }
  PlanFacts facts() const override;
  Table table() const override { return {form_.rows.database, form_.rows.table}; }
  bool is_granted(THD *thd) const override;
  std::optional<WhyNot> look(THD *thd) const override;
  std::optional<NotNow> may(THD *thd) const override;
  std::optional<NotNow> answer(const Asked &asked, const AnswerTools &tools, Output &output) const override;
  void learn(const Asked &asked, Bytes answer, uint64_t before) const override;

  const ChangeForm &change() const { return form_; }

 private:
  /// Learnt for the last known definition; nullptr: nothing. With RETURNING, for answers in the client's shape;
  /// nullopt: the server has to send the column metadata first.
  const Learnt *known(const std::optional<AnswerShape> &shape) const;
  void learn_definition(THD *thd, const std::optional<AnswerShape> &shape, std::optional<sql::Answer> answer) const;

  const ChangeForm form_;
  const bool is_of_variables_;
  mutable NewestFirst<Learnt> learnt_;
};

}  // namespace postern::mariadb
