#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/planned/kept_plans.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "engine/mariadb/hosted/thd/attachment.h"
#include "engine/mariadb/basics/thread.h"

namespace postern::mariadb {
namespace {

constexpr uint64_t look_every_us = KeptPlans::look_every_ms * 1'000;

/// The thread may be another one than before, and is a session's or its own THD's at that time.
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

/// Nobody sees it: it never has a transaction, nor waits, but with a session of its worker.
bool KeptPlans::ready() {
  if (home_ != nullptr) return true;
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

uint64_t KeptPlans::number_of(const PlanKey &key) {
  return key.form * 0x9e3779b97f4a7c15 ^ std::hash<Bytes>{}(key.shape);
}

KeptPlan *KeptPlans::find(const PlanKey &key, uint64_t version) {
  const auto [first, last] = kept_.equal_range(number_of(key));
  for (auto at = first; at != last; ++at) {
    Kept &kept = at->second;
    if (kept.form != key.form || kept.shape != key.shape || !(kept.context == key.context)) continue;
    const uint64_t now_us = microsecond_interval_timer();
    if (kept.version != version || now_us - kept.made_us > age_max_us || kept.plan->outdated()) {
      remove(at);
      return nullptr;
    }
    kept.used = ++clock_;
    return kept.plan.get();
  }
  return nullptr;
}

KeptPlan *KeptPlans::make(const PlanKey &key, THD *session, const ToBePlanned &what, const char *&why) {
  why = nullptr;
  if (home_ == nullptr) return nullptr;
  make_room();
  std::unique_ptr<KeptPlan> plan;
  {
    const AtHome at_home(home_);
    plan = make_plan(home_, session, what, why);
  }
  if (plan == nullptr) return nullptr;
  const auto at = kept_.emplace(number_of(key), Kept{key.form, std::string(key.shape), key.context, what.version,
                                                     microsecond_interval_timer(), ++clock_, std::move(plan)});
  return at->second.plan.get();
}

void KeptPlans::make_room() {
  size_t bytes = 0;
  for (const auto &[number, kept] : kept_) bytes += kept.plan->bytes();
  while (!kept_.empty() && (kept_.size() >= plans_max || bytes > bytes_max)) {
    const auto least = std::ranges::min_element(kept_, {}, [](const auto &one) { return one.second.used; });
    bytes -= std::min(bytes, least->second.plan->bytes());
    remove(least);
  }
}

void KeptPlans::drop(const KeptPlan *plan) {
  const auto at = std::ranges::find(kept_, plan, [](const auto &one) { return one.second.plan.get(); });
  if (at != kept_.end()) remove(at);
}

/// A plan closes its tables as the THD that has them open.
KeptPlans::All::iterator KeptPlans::remove(All::iterator at) {
  const AtHome at_home(home_);
  return kept_.erase(at);
}

void KeptPlans::look(uint64_t now_us, bool at_age) {
  looked_us_ = now_us;
  for (auto at = kept_.begin(); at != kept_.end();) {
    const Kept &kept = at->second;
    const bool leaves =
        kept.plan->wanted_by_others() || kept.plan->outdated() || (at_age && now_us - kept.made_us > age_max_us);
    at = leaves ? remove(at) : std::next(at);
  }
}

void KeptPlans::yield() {
  if (kept_.empty()) return;
  const uint64_t now_us = microsecond_interval_timer();
  if (now_us - looked_us_ >= look_every_us) look(now_us, false);
}

int KeptPlans::rest() {
  if (!kept_.empty()) look(microsecond_interval_timer(), true);
  return kept_.empty() ? 0 : look_every_ms;
}

void KeptPlans::give_up() {
  for (auto at = kept_.begin(); at != kept_.end();) at = remove(at);
}

}  // namespace postern::mariadb
