#include "engine/mariadb/hosted/plans/statement_plan.h"

#include <optional>

namespace postern::mariadb {
namespace {

/// More would mean a table that is altered all the time, or ever-changing clients.
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

}  // namespace postern::mariadb
