// kept_plans.h: KeptPlans, the plans that a worker keeps. Their tables are open in its HomeThd.
//
// Owned by a worker. engine/sql/plans/plan_store.h says which plans are dropped. A plan with a table that another
// session waits for is dropped at once: the worker checks that every few milliseconds, while it works and while it
// sleeps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/mariadb/hosted/planned/joins/kept_plan.h"
#include "engine/mariadb/hosted/planned/joins/plan_context.h"
#include "engine/mariadb/hosted/thd/home_thd.h"
#include "engine/sql/plans/plan_store.h"

class THD;

namespace postern::mariadb {

using PlanKey = sql::PlanKey<PlanContext>;

class KeptPlans {
 public:
  static constexpr size_t plans_max = 256;
  static constexpr size_t bytes_max = size_t{64} << 20;
  /// The age after which statistics may have changed.
  static constexpr uint64_t look_after_us = 10'000'000;
  static constexpr uint64_t unused_max_us = 60'000'000;
  /// The age after which the rows of a range, which statistics do not count, may have changed.
  static constexpr uint64_t age_max_us = 300'000'000;
  /// The bound on waits of other sessions for a table: while the worker has statements to answer, and while it sleeps.
  static constexpr uint64_t look_every_us = 20'000;
  static constexpr int look_asleep_ms = 50;

  explicit KeptPlans(const HomeThd &home) : home_(home) {}

  /// nullptr: none may be used.
  KeptPlan *find(const PlanKey &key, uint64_t version);
  /// Whether to make a plan that was not found: not while there is no room, and all plans are in use.
  bool admits() { return kept_.admits(); }
  /// Makes one. nullptr: `why`, as with make_plan().
  KeptPlan *make(const PlanKey &key, THD *session, const ToBePlanned &what, const char *&why);
  /// Drops a plan.
  void drop(const KeptPlan *plan);

  /// Drops plans with a table that another session waits for. Called often; it checks only every few milliseconds.
  void yield(uint64_t now_us) {
    if (!kept_.empty() && now_us - looked_us_ >= look_every_us) drop_wanted_ones(now_us);
  }
  /// The same, and drops plans that are too old: called before the worker sleeps. Returns the milliseconds after which
  /// to call it again; 0: there are no plans.
  int rest(uint64_t now_us) { return kept_.empty() ? 0 : drop_wanted_and_old_ones(now_us); }
  bool empty() const { return kept_.empty(); }
  void give_up() { kept_.clear(); }

 private:
  /// Acts as the THD that has a plan's tables open, to close them.
  struct EndAtHome {
    THD *home;
    void operator()(KeptPlan *plan) const;
  };
  using Held = std::unique_ptr<KeptPlan, EndAtHome>;

  void drop_wanted_ones(uint64_t now_us);
  int drop_wanted_and_old_ones(uint64_t now_us);
  /// Whether another session waits for a table of any plan.
  bool any_is_wanted();

  const HomeThd &home_;
  sql::PlanStore<Held, PlanContext> kept_{{.plans_max = plans_max,
                                           .bytes_max = bytes_max,
                                           .look_after_us = look_after_us,
                                           .unused_max_us = unused_max_us,
                                           .age_max_us = age_max_us}};
  std::vector<MDL_ticket *> locks_;  // the plans' locks, one for each table and view
  uint64_t locks_of_ = 0;            // kept_.changes() as they were then
  uint64_t looked_us_ = 0;
  uint64_t aged_us_ = 0;  // when old plans were dropped last
};

}  // namespace postern::mariadb
