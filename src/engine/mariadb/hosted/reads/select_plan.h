// select_plan.h: SelectPlan, the plan for SELECTs by key of one form: their meaning, and, learnt while the server
// serves the first of them, the table's columns and index and the bytes around the rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/thd/answer_shape.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/reads/session_read.h"
#include "engine/mariadb/hosted/reads/read_form.h"
#include "engine/mariadb/hosted/reads/recognise.h"
#include "engine/sql/plans/plan_judge.h"
#include "engine/mariadb/hosted/plans/statement_plan.h"
#include "engine/mariadb/hosted/plans/why_not.h"
#include "engine/sql/packets/answer.h"

class THD;
struct LEX;

namespace postern::mariadb {

/// Shared by threads; nothing in it blocks. Everything learnt lives as long as the plan.
class SelectPlan final : public StatementPlan {
 public:
  /// Makes the plan for a SELECT from the server's parse tree. nullptr: `why` is set, or unchanged if it is another
  /// kind of statement.
  static std::shared_ptr<const StatementPlan> recognise(THD *thd, LEX &lex, ParsedText parsed,
                                                        std::optional<WhyNot> &why);

  explicit SelectPlan(ReadForm form);

  uint32_t values() const override { return form_.arguments; }
  PlanFacts facts() const override;
  Table table() const override { return {form_.database, form_.table}; }
  bool is_granted(THD *thd) const override;
  std::optional<WhyNot> look(THD *thd) const override;
  std::optional<NotNow> may(THD *thd) const override;
  std::optional<NotNow> answer(const Asked &asked, const AnswerTools &tools, Output &output) const override;
  void learn(const Asked &asked, Bytes answer, uint64_t before) const override;
  /// Locking reads see the newest rows, which may change between two answers.
  bool can_be_compared() const override { return form_.lock == FormLock::none; }
  bool is_of_time() const override { return is_of_time_; }
  bool leaves_some() const override { return several_.load(std::memory_order_relaxed); }

 private:
  struct Learnt {
    AnswerShape shape;
    uint64_t version;
    ResolvedRead read;
    bool table_may_stay;  // open in a worker, which lends it
    sql::Answer answer;
    std::string index;
    ClientMetadata columns;  // afterwards
    Learnt *next = nullptr;
  };

  const Learnt *find(const AnswerShape &shape) const;

  const ReadForm form_;
  const uint64_t id_;
  const bool is_of_time_;
  mutable NewestFirst<Learnt> learnt_;
  mutable sql::PlanJudge judge_;
  mutable std::atomic<uint64_t> bad_for_{0};  // the table's version for which its index reads too many rows
  mutable std::atomic<bool> several_{false};  // it may find rows, without locking them
};

}  // namespace postern::mariadb
