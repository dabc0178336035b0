// kept_plans.h: KeptPlans, the plans that a worker keeps, and the THD that has their tables open.
//
// A worker's own. Plans are bounded in number and bytes: the least used leaves for a new one. Each leaves some seconds
// after it was made, so that it follows the statistics. Those whose tables somebody waits for leave at once: the worker
// looks for that every few milliseconds, while it works and while it sleeps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "base/bytes.h"
#include "engine/mariadb/hosted/planned/kept_plan.h"
#include "engine/mariadb/hosted/planned/plan_context.h"

class THD;

namespace postern::mariadb {

/// A plan is found by a form, the values in it that shape it, and the context of the session.
struct PlanKey {
  uint64_t form = 0;
  Bytes shape{};
  const PlanContext &context;
};

class KeptPlans {
 public:
  static constexpr size_t plans_max = 256;
  static constexpr size_t bytes_max = size_t{32} << 20;
  /// Statistics may have changed since.
  static constexpr uint64_t age_max_us = 10'000'000;
  /// Nobody waits much longer for a table.
  static constexpr int look_every_ms = 20;

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
  struct Kept {
    uint64_t form;
    std::string shape;
    PlanContext context;
    uint64_t version;
    uint64_t made_us;
    uint64_t used;  // a number that grows with each use
    std::unique_ptr<KeptPlan> plan;
  };
  using All = std::unordered_multimap<uint64_t, Kept>;

  static uint64_t number_of(const PlanKey &key);
  All::iterator remove(All::iterator at);
  void make_room();
  void look(uint64_t now_us, bool at_age);

  THD *home_ = nullptr;
  All kept_;  // by number_of() their keys
  uint64_t clock_ = 0;
  uint64_t looked_us_ = 0;
};

}  // namespace postern::mariadb
