#include "redis/work/steps.h"

#include <utility>

#include "redis/session.h"

namespace postern::redis {

void Steps::tell_erased_to(Call &call) {
  if (!call.session.announces()) return;
  erased_to_ = &call.session.erased();
  erased_ = std::make_unique<ErasedKeys>();
}

Script::Step Steps::begin() {
  if (erased_ != nullptr) erased_->all.clear();
  failure_ = Failure::none;
  at_once_ = false;
  unanswer();
  step_.restart();
  task_ = run();
  waiting_ = task_.handle();
  return next();
}

Script::Step Steps::next() {
  if (step_.was_run_now()) {
    for (size_t i = 0; i < step_.size(); ++i) {
      StepReply &reply = step_.reply(i);
      if (is_borne(reply)) continue;
      failed(reply);
      failure_ = reply.failure;
      message_ = std::move(reply.message);
      failed_table_ = step_.failed_table(i);
      return {.what = Step::What::undo};
    }
  }
  waiting_.resume();
  if (!task_.handle().done()) return {.what = Step::What::run, .ops = step_.ops(), .last = at_once_ && ends_at_once_};
  task_.result();
  return {.what = Step::What::commit};
}

void Steps::done(const Outcome &outcome) {
  passage_.begin();
  Writer to(output_, resp_);
  if (outcome.failure != Failure::none) return write_failure(to, outcome);
  if (failure_ == Failure::none) {
    // Nothing was released, so all written bytes are still there.
    output_.put(answer_.written_since(answer_start_));
    if (answer_.broken()) output_.set_broken();
    output_.note_errors(answer_.take_errors());
    if (erased_ != nullptr) erased_to_->all = std::move(erased_->all);
    return give_back();
  }
  Outcome how{.failure = failure_, .message = message_};
  if (failure_ == Failure::not_open && failed_table_->failure != Failure::none) {
    if (kind_of(failed_table_->failure) == FailureKind::schema) return to.failure("ERR ", failed_table_->message);
    how = {.failure = failed_table_->failure, .message = failed_table_->message};
  }
  write_failure(to, how);
}

/// The thread that ran it frees its memory: another thread destroys it, and memory freed by another thread costs both.
void Steps::give_back() {
  task_ = {};
  step_.give_back();
  answer_.release();
  answer_.sent(answer_.sendable().size());
  answer_start_ = answer_.mark();
}

Next begin_work(Call &call, Steps &steps) {
  return begin_script(call, steps);
}

Next begin_reading_work(Call &call, Steps &steps) {
  if (!call.in_unit) steps.set_reads_only();
  return begin_work(call, steps);
}

}  // namespace postern::redis
