// no_plans.cc: replaces make_plan.cc and others for series of the server without an implementation.
#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/planned/joins/kept_plan.h"
#include "engine/mariadb/hosted/planned/joins/plan_context.h"

namespace postern::mariadb {

PlanContext::PlanContext(const THD *) : numbers{}, objects{} {}

std::unique_ptr<KeptPlan> make_plan(THD *, THD *, const ToBePlanned &, const char *&why) {
  why = words(WhyNot::series).data();
  return nullptr;
}

}  // namespace postern::mariadb
