#include "memcached/answer.h"

namespace postern::memcached {

void KeyAnswer::restart() {
  Answer::restart();
  if (failed_here_) group_->failed = false;
  failed_here_ = false;
}

void KeyAnswer::fail(const Reason &why) {
  if (silent()) return;
  if (group_ != nullptr) group_->failed = failed_here_ = true;
  if (why.failure == Failure::out_of_memory && request_.action != Action::get) count(Statistic::store_no_memory);
  begin();
  form().failed(output_, request_, why.failure, why.message);
}

void KeyAnswer::fail(const Outcome &outcome) {
  if (outcome.failure == Failure::not_open && target_ != nullptr && target_->failure != Failure::none)
    return fail(Reason{target_->failure, target_->message});
  fail(Reason{outcome.failure, outcome.message});
}

void PlainAnswer::done(const Outcome &outcome) {
  if (group_ != nullptr && group_->failed) return;
  begin();
  if (outcome.failure != Failure::none) form().failed(output_, request_, outcome.failure, outcome.message);
  else form().plain(output_, request_, value_);
}

void FailedAnswer::done(const Outcome &outcome) {
  fail(Reason{outcome.failure, outcome.failure == Failure::unauthorized ? outcome.message : message_});
}

void PlaceAnswer::done(const Outcome &outcome) {
  if (outcome.failure != Failure::none) return fail(outcome);
  if (silent()) return;
  begin();
  form().item(output_, request_, {.value = target_->container->place()});
}

void DisabledAnswer::done(const Outcome &outcome) {
  if (outcome.failure != Failure::none) return fail(outcome);
  if (request_.action == Action::get) {
    count(Statistic::cmd_get);
    count_get(false);
    return tell(Result::not_found);
  }
  if (request_.action != Action::increment && request_.action != Action::decrement) return tell(Result::done);
  begin();
  form().number(output_, request_, 0, {});
}

void LoginAnswer::done(const Outcome &outcome) {
  count(Statistic::auth_cmds);
  begin();
  if (outcome.failure == Failure::none) return form().plain(output_, request_, {});
  count(Statistic::auth_errors);
  form().failed(output_, request_, outcome.failure, outcome.message);
}

void StatisticsAnswer::done(const Outcome &outcome) {
  begin();
  if (outcome.failure != Failure::none) form().failed(output_, request_, outcome.failure, outcome.message);
  else teller_.tell_statistics(request_, output_);
}

}  // namespace postern::memcached
