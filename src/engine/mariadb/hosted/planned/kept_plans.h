// kept_plans.h: KeptPlans, the plans that a worker keeps, and the THD that has their tables open.
//
// A worker's own. Plans are few and young: the least used leaves for a new one, and each is made anew after a while, so
// that it follows the statistics. All leave as soon as somebody waits for one of their tables, for which the worker
// looks while it works, and from its sleep; and when none was asked for in a while.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
  static constexpr size_t plans_max = 128;
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

  /// Gives up all plans if somebody waits for a table of one. To be called often: it looks now and then only.
  void yield();
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

  void remove(size_t at);
  void make_room();

  THD *home_ = nullptr;
  std::vector<Kept> kept_;
  uint64_t clock_ = 0;
  uint64_t looked_us_ = 0;
};

}  // namespace postern::mariadb
