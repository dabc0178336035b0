#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/planned/kept_plans.h"

#include <algorithm>

namespace postern::mariadb {
namespace {

constexpr uint64_t old_leave_every_us = 1'000'000;

}  // namespace

void KeptPlans::EndAtHome::operator()(KeptPlan *plan) const {
  const AtHome at_home(home);
  delete plan;
}

KeptPlan *KeptPlans::find(const PlanKey &key, uint64_t version) {
  return kept_.find(key, version, microsecond_interval_timer());
}

KeptPlan *KeptPlans::make(const PlanKey &key, THD *session, const ToBePlanned &what, const char *&why) {
  why = nullptr;
  THD *const home = home_.thd();
  if (home == nullptr) return nullptr;
  kept_.make_room();
  std::unique_ptr<KeptPlan> plan;
  {
    const AtHome at_home(home);
    plan = make_plan(home, session, what, why);
  }
  if (plan == nullptr) return nullptr;
  return kept_.add(key, what.version, microsecond_interval_timer(), Held(plan.release(), EndAtHome{home}));
}

void KeptPlans::drop(const KeptPlan *plan) {
  kept_.drop(plan);
}

/// Many plans have the same few tables.
bool KeptPlans::any_is_wanted() {
  if (locks_of_ != kept_.changes()) {
    locks_.clear();
    kept_.for_each(
        [this](const KeptPlan &plan) { locks_.insert(locks_.end(), plan.tickets().begin(), plan.tickets().end()); });
    // Tickets of one lock have its key.
    std::ranges::sort(locks_, {}, &MDL_ticket::get_key);
    const auto others = std::ranges::unique(locks_, {}, &MDL_ticket::get_key);
    locks_.erase(others.begin(), others.end());
    locks_of_ = kept_.changes();
  }
  if (std::ranges::any_of(locks_, [](MDL_ticket *one) { return one->has_pending_conflicting_lock(); })) return true;
  bool any = false;
  kept_.for_each([&any](const KeptPlan &plan) { any = any || plan.outdated(); });
  return any;
}

void KeptPlans::drop_wanted_ones(uint64_t now_us) {
  looked_us_ = now_us;
  if (any_is_wanted()) kept_.drop_unwanted();
}

int KeptPlans::drop_wanted_and_old_ones(uint64_t now_us) {
  drop_wanted_ones(now_us);
  if (now_us - aged_us_ >= old_leave_every_us) {
    aged_us_ = now_us;
    kept_.drop_old(now_us);
  }
  return kept_.empty() ? 0 : look_asleep_ms;
}

}  // namespace postern::mariadb
