#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/planned/kept_plans.h"

#include <algorithm>

#include "engine/mariadb/basics/attachment.h"
#include "engine/mariadb/basics/thread.h"

namespace postern::mariadb {
namespace {

constexpr uint64_t old_leave_every_us = 1'000'000;

/// The thread may have changed since, and acts as a session's or its own THD at that time.
class AtHome {
 public:
  explicit AtHome(THD *home) { attachment_.to(home, my_thread_var); }

 private:
  Attachment attachment_;
};

}  // namespace

KeptPlans::~KeptPlans() {
  give_up();
  if (home_ == nullptr) return;
  const AtHome at_home(home_);
  home_->mdl_context.release_transactional_locks(home_);
  lex_end(home_->lex);
  delete home_;
}

/// It is not visible: it has no transaction and no waits, except together with a session of its worker.
bool KeptPlans::make_home() {
  const Attachment attachment;
  if (!ServerThread::has_room_to_renew()) return false;
  THD *const thd = new THD(next_thread_id());
  char here = 0;
  thd->thread_stack = &here;
  thd->store_globals();
  thd->system_thread = SYSTEM_THREAD_GENERIC;
  thd->set_command(COM_DAEMON);
  thd->set_time();
  thd->main_security_ctx.host_or_ip = "";
  thd->main_security_ctx.set_user(const_cast<char *>("postern"));
  thd->main_security_ctx.skip_grants();
  thd->init_for_queries();
  lex_start(thd);
  thd->reset_for_next_command();
  home_ = thd;
  return true;
}

void KeptPlans::EndAtHome::operator()(KeptPlan *plan) const {
  const AtHome at_home(home);
  delete plan;
}

KeptPlan *KeptPlans::find(const PlanKey &key, uint64_t version) {
  return kept_.find(key, version, microsecond_interval_timer());
}

KeptPlan *KeptPlans::make(const PlanKey &key, THD *session, const ToBePlanned &what, const char *&why) {
  why = nullptr;
  if (home_ == nullptr) return nullptr;
  kept_.make_room();
  std::unique_ptr<KeptPlan> plan;
  {
    const AtHome at_home(home_);
    plan = make_plan(home_, session, what, why);
  }
  if (plan == nullptr) return nullptr;
  return kept_.add(key, what.version, microsecond_interval_timer(), Held(plan.release(), EndAtHome{home_}));
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
  return std::ranges::any_of(locks_, [](MDL_ticket *one) { return one->has_pending_conflicting_lock(); });
}

void KeptPlans::drop_wanted_ones() {
  const uint64_t now_us = microsecond_interval_timer();
  if (now_us - looked_us_ < look_every_us) return;
  looked_us_ = now_us;
  if (any_is_wanted()) kept_.drop_unwanted();
}

int KeptPlans::drop_wanted_and_old_ones() {
  looked_us_ = microsecond_interval_timer();
  if (any_is_wanted()) kept_.drop_unwanted();
  if (looked_us_ - aged_us_ >= old_leave_every_us) {
    aged_us_ = looked_us_;
    kept_.drop_old(looked_us_);
  }
  return kept_.empty() ? 0 : look_asleep_ms;
}

void KeptPlans::give_up() {
  kept_.clear();
}

}  // namespace postern::mariadb
