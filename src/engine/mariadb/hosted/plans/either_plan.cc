#include "engine/mariadb/hosted/plans/either_plan.h"

namespace postern::mariadb {
namespace {

/// The cost of a trial of the first plan where the second can answer then; a success takes 1 off.
int32_t cost_of(std::optional<NotNow> why) {
  if (!why) return -1;
  if (why == NotNow::too_much) return sql::Trials::cost_max / 2;       // it has read many rows for nothing
  if (why == NotNow::order_unsure) return sql::Trials::cost_max / 32;  // one or two
  return 0;
}

/// The second may answer then.
bool is_left(NotNow why) {
  switch (why) {
    case NotNow::order_unsure:
    case NotNow::too_much:
    case NotNow::not_learnt:
    case NotNow::given_back:
    case NotNow::plan_off: return true;
    default: return false;
  }
}

}  // namespace

bool EitherPlan::prefers_second() const {
  return !first_->holds() || first_->rests();
}

PlanFacts EitherPlan::facts() const {
  PlanFacts facts = first_->facts();
  const PlanFacts second = second_->facts();
  if (prefers_second() || (!facts.answers && second.answers)) facts = second;
  add_facts(facts);
  if (!second.left_for.empty()) facts.left_for = second.left_for;
  return facts;
}

std::optional<NotNow> EitherPlan::answer(const Asked &asked, const AnswerTools &tools, Output &output) const {
  std::optional<NotNow> why = NotNow::plan_off;
  if (!prefers_second()) {
    why = first_->answer(asked, tools, output);
    first_->note_trial(cost_of(why));
    if (!why || !is_left(*why)) return why;
  }
  if (const auto not_now = second_->may(asked.thd)) return why == NotNow::plan_off ? not_now : why;
  const std::optional<NotNow> second = second_->answer(asked, tools, output);
  // The first plan's reason counts as long as the second has none.
  return second == NotNow::not_learnt && why != NotNow::plan_off ? why : second;
}

void EitherPlan::learn(const Asked &asked, Bytes answer, uint64_t before) const {
  first_->learn(asked, answer, before);
  note_version(first_->version());
  // The table was the same from before the server began until now: for the second one, too.
  second_->learn(asked, answer, version() == before ? second_->version() : 0);
}

}  // namespace postern::mariadb
