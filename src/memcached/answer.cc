#include "memcached/answer.h"

namespace postern::memcached {

void KeyAnswer::forget() {
  passage_.take_back();
  if (failed_here_) multi_get_->failed = false;
  failed_here_ = false;
}

void KeyAnswer::fail(Failure failure, Bytes message) {
  if (silent()) return;
  if (multi_get_ != nullptr) multi_get_->failed = failed_here_ = true;
  if (failure == Failure::out_of_memory && !request_.asks(ItemAction::get)) count(Statistic::store_no_memory);
  begin();
  form().failed(output_, request_, failure, message);
}

void PlainAnswer::done(const Outcome &outcome) {
  if (multi_get_ != nullptr && multi_get_->failed) return;
  begin();
  if (outcome.failure != Failure::none) form().failed(output_, request_, outcome.failure, outcome.message);
  else tell();
}

void PlainAnswer::tell() {
  if (request_.action == Action::refused) output_.note_errors();
  form().plain(output_, request_, value_);
}

void FailedAnswer::done(const Outcome &outcome) {
  fail(outcome.failure, outcome.failure == Failure::unauthorized ? outcome.message : message_);
}

void PlaceAnswer::done(const Outcome &outcome) {
  if (outcome.failure != Failure::none) {
    const items::Reason why = target_.reason(outcome);
    return fail(why.failure, why.message);
  }
  if (silent()) return;
  begin();
  form().item(output_, request_, {.value = target_.container->place()});
}

void DisabledAnswer::done(const Outcome &outcome) {
  if (outcome.failure != Failure::none) return fail(outcome.failure, outcome.message);
  if (request_.asks(ItemAction::get)) {
    count(Statistic::cmd_get);
    count_get(false);
    return tell(Result::not_found);
  }
  if (!request_.item.counts()) return tell(Result::done);
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
  else source_.write_statistics(request_, output_);
}

}  // namespace postern::memcached
