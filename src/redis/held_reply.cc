#include "redis/held_reply.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "redis/registry/command_keys.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

/// A reply that was written and is not sent yet.
struct Held final : Kept {
  Held() { output.hold_until_commit(); }
  Output output;
};

class HeldReply final : public Stage {
 public:
  explicit HeldReply(RedisSession &session)
      : waiters_(session.protocol().waiters()),
        servings_{std::make_shared<Serving>(*session.waker())},
        held_(std::make_unique<Held>()) {}
  HeldReply(const HeldReply &) = delete;
  HeldReply &operator=(const HeldReply &) = delete;
  ~HeldReply() override { waiters_.forget(serving(), is_late_); }

  Output &output() { return held_->output; }
  const Servings *servings() const override { return &servings_; }

  Next go_on(Call &call) override {
    const int64_t now_ms = clock_ms();
    if (until_ms_ == 0) until_ms_ = now_ms + serving_wait_ms;
    const bool over = waiters_.is_over(serving()) || call.session.peer().sends_no_more();
    if (!over && now_ms < until_ms_) return call.session.pause_until(until_ms_);
    is_late_ = !over;
    answer(call, [held = held_.get(), &output = call.output](Writer &) {
      output.put(held->output.written_since(0));
      if (held->output.broken()) output.set_broken();
    });
    call.output.note_errors(output().take_errors());
    call.session.tables().keep(std::move(held_));
    return Next::go_on;
  }

 private:
  Serving &serving() { return *servings_.front(); }

  Waiters &waiters_;
  const Servings servings_;
  std::unique_ptr<Held> held_;
  int64_t until_ms_ = 0;
  bool is_late_ = false;
};

bool waits_for_any(RedisSession &session, const Command &command, std::span<const Bytes> arguments) {
  if (!command.has(CommandFlag::feeds)) return false;
  const std::vector<FoundKey> keys = keys_of(command, arguments);
  return std::any_of(keys.begin(), keys.end(), [&](const FoundKey &found) {
    return session.protocol().waiters().wait_for(session.client().database(), found.key);
  });
}

}  // namespace

bool feeds_who_waits(Call &call) {
  RedisSession &session = call.session;
  if (session.waker() == nullptr || call.command.has(CommandFlag::blocking)) return false;
  if (waits_for_any(session, call.command, call.arguments)) return true;
  return session.transaction().open() && session.transaction().any_queued([&](const Queued &queued) {
    return waits_for_any(session, queued.command(), queued.arguments());
  });
}

Next answer_when_served(Call &call) {
  auto held = std::make_unique<HeldReply>(call.session);
  Call its{call.command, call.arguments, call.session, call.batch, held->output(), call.resp, call.now_ms};
  call.session.announces() ? announce(its) : call.command.handler(its);
  return call.session.wait_for(std::move(held));
}

}  // namespace postern::redis
