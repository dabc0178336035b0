// select_plan.h: SelectPlan, how SELECTs of one form are answered on the sessions that ask: their meaning, and, learnt
// while the server serves the first of them, the columns and index in the table and the bytes around the rows
// (table_plan.h).
#pragma once

#include <optional>
#include <cstdint>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/thd/answer_shape.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/rows/session_read.h"
#include "engine/mariadb/hosted/recognise/read_form.h"
#include "engine/mariadb/hosted/plans/answering_plan.h"
#include "engine/mariadb/hosted/recognise/why_not.h"
#include "engine/sql/answer.h"

class THD;

namespace postern::mariadb {

/// Shared by threads; nothing in it blocks. Everything learnt lives as long as the plan.
class SelectPlan final : public AnsweringPlan {
 public:
  explicit SelectPlan(ReadForm form) : form_(std::move(form)) {}

  uint32_t values() const override { return form_.arguments; }
  PlanFacts facts() const override;
  const ReadForm &rows() const override { return form_; }
  bool is_granted(THD *thd) const override;

  std::optional<NotNow> answer(THD *thd, ReadTools tools, const Statement &statement, Output &output,
                               ClientMetadata *columns) const override;

  /// Looks at the table, so that version() is known. Opens it in `thd`, which rests between two commands.
  /// No reason also where the table cannot be opened just now.
  std::optional<WhyNot> look(THD *thd) const;
  void learn(THD *thd, const Statement &statement, Bytes answer, uint64_t before,
             const ClientMetadata &columns) const override;

 private:
  struct Learnt {
    AnswerShape shape;
    uint64_t version;
    ResolvedRead read;
    sql::Answer answer;
    std::string index;
    ClientMetadata columns;  // afterwards
    Learnt *next = nullptr;
  };

  const Learnt *find(const AnswerShape &shape) const;

  const ReadForm form_;
  mutable NewestFirst<Learnt> learnt_;
};

}  // namespace postern::mariadb
