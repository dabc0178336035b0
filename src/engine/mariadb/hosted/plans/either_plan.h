// either_plan.h: EitherPlan, two plans for statements of one form: the first answers most of them, the second those
// that the first leaves because of the rows found.
#pragma once

#include <memory>
#include <utility>

#include "engine/mariadb/hosted/plans/statement_plan.h"

namespace postern::mariadb {

/// Shared by threads; lock-free.
class EitherPlan final : public StatementPlan {
 public:
  /// Both must read the same tables.
  EitherPlan(std::shared_ptr<const StatementPlan> first, std::shared_ptr<const StatementPlan> second)
      : first_(std::move(first)), second_(std::move(second)) {
    note_version(first_->version());
  }

  uint32_t values() const override { return first_->values(); }
  bool holds() const override { return StatementPlan::holds() && (first_->holds() || second_->holds()); }
  PlanFacts facts() const override;
  Table table() const override { return first_->table(); }
  bool is_granted(THD *thd) const override { return first_->is_granted(thd); }
  std::optional<WhyNot> look(THD *thd) const override { return first_->look(thd); }
  std::optional<NotNow> may(THD *thd) const override { return first_->may(thd); }
  std::optional<NotNow> answer(const Asked &asked, const AnswerTools &tools, Output &output) const override;
  void learn(const Asked &asked, Bytes answer, uint64_t before) const override;
  bool can_be_compared() const override { return first_->can_be_compared(); }
  bool is_of_time() const override { return first_->is_of_time() || second_->is_of_time(); }
  bool leaves_order_open() const override { return second_->leaves_order_open(); }
  bool needs_plans() const override { return second_->needs_plans(); }

 private:
  bool prefers_second() const;

  const std::shared_ptr<const StatementPlan> first_;  // pauses for a while after it has often read in vain
  const std::shared_ptr<const StatementPlan> second_;
};

}  // namespace postern::mariadb
