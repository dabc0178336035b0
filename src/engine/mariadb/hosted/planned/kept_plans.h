// kept_plans.h: KeptPlans, the plans that a worker keeps, and the THD that has their tables open.
//
// A worker's own. engine/sql/plans/plan_store.h says which plans leave. Those whose tables somebody waits for leave at
// once: the worker looks for that every few milliseconds, while it works and while it sleeps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/mariadb/hosted/planned/kept_plan.h"
#include "engine/mariadb/hosted/planned/plan_context.h"
#include "engine/sql/plans/plan_store.h"

class THD;

namespace postern::mariadb {

using PlanKey = sql::PlanKey<PlanContext>;

class KeptPlans {
 public:
  static constexpr size_t plans_max = 256;
  static constexpr size_t bytes_max = size_t{32} << 20;
  /// Statistics may have changed since.
  static constexpr uint64_t look_after_us = 10'000'000;
  static constexpr uint64_t unused_max_us = 60'000'000;
  /// The rows of a range, of which statistics have no number, may have changed since.
  static constexpr uint64_t age_max_us = 300'000'000;
  /// Nobody waits much longer for a table: while the worker has statements to answer, and while it sleeps.
  static constexpr uint64_t look_every_us = 20'000;
  static constexpr int look_asleep_ms = 50;

  KeptPlans() = default;
  ~KeptPlans();
  KeptPlans(const KeptPlans &) = delete;
  KeptPlans &operator=(const KeptPlans &) = delete;

  /// Whether plans can be made. To be called when the thread is its own THD's; the first call makes their THD.
  bool ready();

  /// nullptr: there is none that may be used.
  KeptPlan *find(const PlanKey &key, uint64_t version);
  /// Makes one. nullptr: `why`, as with make_plan().
  KeptPlan *make(const PlanKey &key, THD *session, const ToBePlanned &what, const char *&why);
  /// It is not to be used again.
  void drop(const KeptPlan *plan);

  /// Gives up the plans with a table that somebody waits for. To be called often: it looks now and then only.
  void yield();
  /// The same, and the plans that are too old: before the worker sleeps. Returns the milliseconds after which it is to
  /// be called again; 0: there are no plans.
  int rest();
  void give_up();

 private:
  /// A plan closes its tables as the THD that has them open.
  struct EndAtHome {
    THD *home;
    void operator()(KeptPlan *plan) const;
  };
  using Held = std::unique_ptr<KeptPlan, EndAtHome>;

  THD *home_ = nullptr;
  /// Whether somebody waits for a table of any plan.
  bool any_is_wanted();

  sql::PlanStore<Held, PlanContext> kept_{{.plans_max = plans_max,
                                           .bytes_max = bytes_max,
                                           .look_after_us = look_after_us,
                                           .unused_max_us = unused_max_us,
                                           .age_max_us = age_max_us}};
  std::vector<MDL_ticket *> locks_;  // the plans' locks, one for each table and view
  uint64_t locks_of_ = 0;            // kept_.changes() as they were then
  uint64_t looked_us_ = 0;
  uint64_t aged_us_ = 0;  // when old ones have left
};

}  // namespace postern::mariadb
