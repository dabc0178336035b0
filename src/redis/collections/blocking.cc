#include "redis/collections/blocking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/pool.h"
#include "redis/collections/pops.h"
#include "redis/session.h"
#include "redis/waiting/waiters.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

/// On the clock of clock_ms(); INT64_MAX: for ever. Returns false after answering an error.
bool read_timeout(Call &call, const Blocking &blocking, int64_t &until_ms) {
  const auto wrong = [&call](Bytes why) {
    refuse(call, why);
    return false;
  };
  constexpr auto most = static_cast<long double>(std::numeric_limits<int64_t>::max());
  long double seconds = 0;
  if (!parse_long_double(blocking.timeout, seconds)) return wrong("ERR timeout is not a float or out of range");
  const long double milliseconds = std::ceil(blocking.in_milliseconds ? seconds : seconds * 1000);
  // Redis 7.0 converts a value beyond int64_t to the smallest one.
  if (milliseconds < 0 || milliseconds > most) return wrong("ERR timeout is negative");
  const auto wait_ms = static_cast<int64_t>(milliseconds);
  const int64_t now_ms = clock_ms() + 1;  // a fraction of a millisecond does not count
  until_ms = wait_ms == 0 || wait_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + wait_ms;
  return true;
}

/// A command with a copy of its arguments.
class Copied {
 public:
  Copied(const Command &command, std::span<const Bytes> arguments) : command_(command) {
    size_t bytes = 0;
    for (const Bytes argument : arguments) bytes += argument.size();
    text_.reserve(bytes);
    arguments_.reserve(arguments.size());
    for (const Bytes argument : arguments) {
      const size_t at = text_.size();
      text_.append(argument);
      arguments_.push_back(Bytes(text_).substr(at));
    }
  }
  Copied(const Copied &) = delete;
  Copied &operator=(const Copied &) = delete;

  const Command &command() const { return command_; }
  std::span<const Bytes> arguments() const { return arguments_; }
  size_t bytes() const { return sizeof *this + text_.size() + arguments_.size() * sizeof(Bytes); }

 private:
  const Command &command_;
  std::string text_;
  std::vector<Bytes> arguments_;
};

/// Whether a key has elements of a type.
class LookReply final : public Reply {
 public:
  LookReply(bool &seen, const Map &map, Type type, int64_t now_ms)
      : seen_(seen), map_(map), now_ms_(now_ms), type_(type) {}
  Flow row(Row row) override {
    const KeyState state = state_of(map_, row, now_ms_);
    if (state.live && state.type == type_) seen_ = true;
    return Flow::more;
  }
  void done(const Outcome &) override {}  // a failure is answered by the next try
  void restart() override {}

 private:
  bool &seen_;
  const Map &map_;
  const int64_t now_ms_;
  const Type type_;
};

class WaitStage final : public Stage {
 public:
  WaitStage(Call &call, const Blocking &blocking, int64_t until_ms)
      : queued_(call.command, call.arguments),
        keys_(queued_.arguments().subspan(static_cast<size_t>(blocking.keys.data() - call.arguments.data()),
                                          blocking.keys.size())),
        type_(blocking.type),
        try_(blocking.attempt),
        until_ms_(until_ms),
        client_(call.session.client()),
        waiters_(call.session.protocol().waiters()),
        waiter_(waiters_, *call.session.waker(), call.session.client().id()) {}
  WaitStage(const WaitStage &) = delete;
  WaitStage &operator=(const WaitStage &) = delete;
  ~WaitStage() override {
    if (!blocked_) return;
    client_.note_blocked(false);
    waiters_.note_over();
  }

  Next try_again(Call &call) {
    attempt_.nothing = false;
    asked_ = Asked::tried;
    Call its{queued_.command(), queued_.arguments(), call.session, call.batch, call.output, call.resp, call.now_ms};
    try_(its, &attempt_);
    return Next::wait;
  }

  const Servings *servings() const override { return &waiter_.owed(); }

  Next go_on(Call &call) override {
    const Asked asked = std::exchange(asked_, Asked::nothing);
    if (asked == Asked::tried && !attempt_.nothing) return Next::go_on;
    const bool joins = !waiter_.joined();
    if (joins && !join()) return refuse(call, "OOM the command waits for too many keys");
    attempt_.repeated = !joins;
    const Waiting::News news = waiter_.take_news();
    if (news.unblocked != Unblocked::no) return end(call, news.unblocked);
    const int64_t now_ms = clock_ms();
    const bool late = now_ms >= until_ms_;
    const bool is_first = waiter_.find_turns(attempt_.turns);
    const bool hopes = is_first && (joins || news.fed || (asked == Asked::looked && seen_));
    if (hopes && !std::exchange(tried_late_, late)) return try_again(call);
    if (late) return end(call, Unblocked::as_late);
    if (news.first || (is_first && now_ms >= look_ms_)) {
      if (type_ != Type::stream) return look(call, now_ms);
      // Its tries lock nothing if they find nothing.
      look_ms_ = now_ms + waiting_look_ms;
      return try_again(call);
    }
    waiter_.note_nothing();
    if (!std::exchange(blocked_, true)) {
      client_.note_blocked(true);
      waiters_.note_slept();
    }
    return call.session.sleep_until(is_first ? std::min(look_ms_, until_ms_) : until_ms_);
  }

 private:
  enum class Asked : uint8_t { nothing, tried, looked };

  /// False: it would take too much memory.
  bool join() {
    size_t bytes = queued_.bytes();
    for (const Bytes key : keys_) bytes += key.size() + waiting_key_bytes;
    if (!charge_.add(bytes)) return false;
    waiter_.join(client_.database(), type_, keys_);
    look_ms_ = clock_ms() + waiting_look_ms;
    return true;
  }

  /// Reads, and locks nothing.
  Next look(Call &call, int64_t now_ms) {
    asked_ = Asked::looked;
    seen_ = false;
    look_ms_ = now_ms + waiting_look_ms;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (!attempt_.may_take(i)) continue;
      const Place place = place_of(call, keys_[i]);
      if (place.state != Place::State::there || !place.generic()) continue;
      add_find(call, place, place.open->table, *call.arena().make<LookReply>(seen_, place.map(), type_, call.now_ms));
    }
    return Next::wait;
  }

  static Next end(Call &call, Unblocked how) {
    if (how == Unblocked::with_error) return refuse(call, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
    answer(call, [](Writer &writer) { writer.nil_array(); });
    return Next::go_on;
  }

  const Copied queued_;
  const std::span<const Bytes> keys_;
  const Type type_;
  const Try try_;
  const int64_t until_ms_;
  int64_t look_ms_ = 0;
  Asked asked_ = Asked::nothing;  // by the ops that are under way
  Attempt attempt_;
  bool seen_ = false;
  bool tried_late_ = false;
  bool blocked_ = false;  // it has slept, and counts as blocked
  Client &client_;
  Waiters &waiters_;
  pool::Tally charge_;
  Waiting waiter_;
};

}  // namespace

Next wait_for_elements(Call &call, const Blocking &blocking) {
  int64_t until_ms = 0;
  if (!read_timeout(call, blocking, until_ms)) return Next::go_on;
  if (call.in_unit || call.session.waker() == nullptr) return blocking.attempt(call, nullptr);
  auto stage = std::make_unique<WaitStage>(call, blocking, until_ms);
  stage->try_again(call);
  return call.session.wait_for(std::move(stage));
}

Next wait_and_pop(Call &call, Type type, Try attempt) {
  const std::span<const Bytes> arguments = call.arguments;
  return wait_for_elements(call, {.type = type,
                                  .keys = arguments.subspan(1, arguments.size() - 2),
                                  .timeout = arguments.back(),
                                  .attempt = attempt});
}

Next wait_and_pop_many(Call &call, Bytes first, Bytes last, Type type, Try attempt) {
  ManyKeysPop wanted;
  if (!read_many_keys_pop(call, 2, first, last, wanted)) return Next::go_on;
  return wait_for_elements(call, {.type = type, .keys = wanted.keys, .timeout = call.arguments[1], .attempt = attempt});
}

Next nothing_there(Call &call, Attempt *attempt) {
  if (attempt != nullptr) attempt->nothing = true;
  else answer(call, [](Writer &writer) { writer.nil_array(); });
  return Next::go_on;
}

}  // namespace postern::redis
