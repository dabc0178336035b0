// planned_form.h: PlannedForm, which answers SELECTs of one form by plans that workers keep: its parts, its values that
// vary between executions, and the bytes of answers, learnt while the server serves the first statements.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/mariadb/hosted/plans/statement_plan.h"
#include "engine/mariadb/hosted/planned/forms/form_parts.h"
#include "engine/mariadb/hosted/planned/kept_plans.h"
#include "engine/sql/plans/plan_judge.h"
#include "engine/sql/plans/row_classes.h"
#include "engine/mariadb/hosted/plans/why_not.h"

namespace postern::mariadb {

/// Whether plans are made and used at all (postern_plan_once). Any thread.
void plan_once(bool on);
bool plans_once();

/// Shared by threads; lock-free. Learnt answers live as long as this.
class PlannedForm final : public StatementPlan {
 public:
  /// Makes the form of a text, in which each ? is a value, that the server has served for `thd`. nullptr: `why` is set,
  /// or unchanged for a kind of statement that is never planned.
  static std::shared_ptr<const PlannedForm> make(THD *thd, Bytes text, ParsedText parsed, std::optional<WhyNot> &why);

  PlannedForm(FormParts parts, const charset_info_st *collation);

  uint32_t values() const override { return static_cast<uint32_t>(parts_.values.size()); }
  PlanFacts facts() const override;
  Table table() const override;
  bool is_granted(THD *thd) const override;
  std::optional<WhyNot> look(THD *thd) const override;
  std::optional<NotNow> may(THD *thd) const override;
  /// Locking reads see the newest rows, which may change between two answers.
  bool can_be_compared() const override { return parts_.lock == FormLock::none; }
  bool leaves_order_open() const override { return true; }
  bool is_of_time() const override { return parts_.of_time; }
  bool needs_plans() const override { return true; }

  std::optional<NotNow> answer(const Asked &asked, const AnswerTools &tools, Output &output) const override;
  void learn(const Asked &asked, Bytes answer, uint64_t before) const override;

 private:
  /// One learnt answer, for one set of the values that shape it. If the server knows before reading that there is no
  /// row it describes columns differently, so answers without rows are learnt separately.
  struct Known {
    AnswerShape shape;
    uint64_t version;
    std::string values;
    bool rows;  // there were some
    sql::Answer answer;
    ClientMetadata columns;  // afterwards
    Known *next = nullptr;
  };

  /// A description of the first plan, for INFORMATION_SCHEMA.
  struct Shown {
    std::string plan;
    Shown *next = nullptr;
  };

  std::optional<WhyNot> find_places(THD *thd, bool &opened);
  static std::optional<WhyNot> look_at(std::span<const TABLE *const> tables);
  struct Named;
  const Field *column_of(const Named &named, std::span<const TABLE *const> tables, bool &doubtful) const;
  const Field *column_elsewhere(const PlacedValue &value, std::span<const TABLE *const> tables, bool &doubtful) const;
  ValuePlace place_of(const PlacedValue &value, std::span<const TABLE *const> tables) const;
  bool shapes(size_t at, const Value &value) const;
  bool shape_of(std::span<const Value> values, std::string &shape) const;
  bool add_class(std::span<const Value> values, size_t at, std::string &shape) const;
  std::optional<uint64_t> limit_in(std::span<const Value> values) const;
  const Known *find(const AnswerShape &shape, Bytes values, bool rows) const;
  std::string text_with(std::span<const Value> values, const THD *thd, bool all) const;
  std::span<const Value> values_of(const Statement &statement) const;
  static Bytes shape_for(const Known &known, Bytes row_classes);
  KeptPlan *kept_for(THD *thd, KeptPlans &plans, const Known &known, Bytes row_classes) const;
  KeptPlan *plan_for(THD *thd, KeptPlans &plans, const Statement &statement, const Known &known, Bytes row_classes,
                     NotNow &not_now) const;
  std::optional<NotNow> execute_best(const Asked &asked, KeptPlans &plans, const Known *&known, Output &output) const;
  std::optional<NotNow> execute(const Asked &asked, KeptPlans &plans, KeptPlan &plan, Executed &executed,
                                const Known *&known, Output &output) const;
  static void put_other_head(THD *thd, const Known &known, Output &output, size_t start,
                             std::optional<sql::Packets> &packets);
  bool is_bad(const KeptPlan &plan, std::optional<NotNow> why, uint64_t rows_read) const;
  /// Leaves the form to the server for a long while; `why`: the reason, a literal.
  void give_back(const char *why) const;

  const FormParts parts_;
  const charset_info_st *const collation_;  // of literals
  const uint64_t id_;
  std::vector<ValuePlace> places_;
  mutable NewestFirst<Known> known_;
  mutable NewestFirst<Shown> shown_;
  mutable std::atomic<uint32_t> known_count_{0};
  mutable sql::PlanJudge judge_;
  mutable sql::RowClasses row_classes_;
  mutable std::atomic<const char *> given_back_{nullptr};
  mutable std::atomic<uint64_t> asked_since_{0};
  mutable std::atomic<uint64_t> given_back_for_{0};  // so many statements
  mutable std::atomic<uint32_t> unplanned_{0};       // in a row
};

}  // namespace postern::mariadb
