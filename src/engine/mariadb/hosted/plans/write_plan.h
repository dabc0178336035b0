// write_plan.h: WritePlan, how writes of one form are done together with those of other sessions, in one transaction of
// the worker (shared_writes.h).
//
// The columns and the key belong to a definition of the table. They are learnt while the server serves a statement, and
// so is whether the server would look at every row of the table, which the client sees in the status. With RETURNING
// the bytes of answers are learnt, too, as in select_plan.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/thd/answer_shape.h"
#include "engine/mariadb/hosted/recognise/change_form.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/plans/table_plan.h"
#include "engine/mariadb/hosted/recognise/why_not.h"
#include "engine/sql/answer.h"

class THD;

namespace postern::mariadb {

/// Shared by threads; nothing in it blocks. Everything learnt lives as long as the plan.
class WritePlan final : public TablePlan {
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

  explicit WritePlan(ChangeForm form) : form_(std::move(form)) {}

  uint32_t values() const override { return form_.rows.arguments; }
  bool writes() const override { return true; }
  PlanFacts facts() const override;
  const ReadForm &rows() const override { return form_.rows; }
  bool is_granted(THD *thd) const override;

  const ChangeForm &change() const { return form_; }
  /// For the definition that was found last; nullptr: nothing. With RETURNING, for answers of that shape.
  const Learnt *known(const std::optional<AnswerShape> &shape) const;

  /// Why there is no key for it in the table as it is; sets version(). Opens the table in `thd`, which rests between
  /// two commands. No reason also where the table cannot be opened just now.
  std::optional<WhyNot> look(THD *thd) const;
  /// After the server has given `answer` to such a statement. `before`: version() as it was before that.
  void learn(THD *thd, bool prepared, Bytes answer, uint64_t before) const;

 private:
  void learn_definition(THD *thd, const std::optional<AnswerShape> &shape, std::optional<sql::Answer> answer) const;

  const ChangeForm form_;
  mutable NewestFirst<Learnt> learnt_;
};

}  // namespace postern::mariadb
