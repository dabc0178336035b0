// blocking.h: commands that wait for elements, such as BLPOP.
//
// Such a command is first tried as its variant that does not block. If it finds nothing it joins the waiters for its
// keys (waiters.h), is tried once more, for elements that came meanwhile, and then sleeps: its session holds no op, no
// table and no thread. It is tried again whenever it is woken, and polls every second. A waiting command takes only
// from keys of which it is the first waiter.
//
//   Next blpop(Call &call) {
//     return wait_for_elements(call, {.keys = ..., .timeout = call.arguments.back(), .attempt = try_pop});
//   }
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "redis/call.h"
#include "redis/keyspace/map.h"
#include "redis/wire/stream_id.h"
#include "redis/work/work.h"

namespace postern::redis {

/// One try of a blocking command. Owned by the rest of the command.
struct Attempt {
  bool nothing = false;   ///< no elements were found, and nothing was answered
  bool repeated = false;  ///< it waits already: a key of another type counts as missing
  /// The keys that it may take from; other clients have waited longer for the rest. Empty: all.
  std::vector<bool> turns{};

  /// In a command on streams, for each key: the entry after which it reads.
  std::vector<StreamId> since{};

  bool may_take(size_t key) const { return turns.empty() || turns[key]; }
};

/// Adds the ops of a try. Without an `attempt` the command does not wait: it answers that nothing was found.
using Try = Next (*)(Call &call, Attempt *attempt);

struct Blocking {
  Type type = Type::list;
  std::span<const Bytes> keys{};  ///< the keys to wait for, among the call's arguments
  Bytes timeout{};
  bool in_milliseconds = false;  ///< not in seconds
  Try attempt = nullptr;
};
Next wait_for_elements(Call &call, const Blocking &blocking);
/// `command key [key ...] timeout`
Next wait_and_pop(Call &call, Type type, Try attempt);
/// `timeout numkeys key [key ...] WHERE [COUNT count]`; `first` and `last` are the words for the ends.
Next wait_and_pop_many(Call &call, Bytes first, Bytes last, Type type, Try attempt);
/// A try for keys that cannot exist.
Next nothing_there(Call &call, Attempt *attempt);

/// Makes a try from a work, which calls nothing_found() where it would wait. `Base` derives from Work.
template <class Base>
class Trying : public Base {
 public:
  template <class... Arguments>
  explicit Trying(Attempt *attempt, Arguments &&...arguments)
      : Base(std::forward<Arguments>(arguments)...), attempt_(attempt) {}

  void done(const Outcome &outcome) final {
    if (attempt_ != nullptr && outcome.failure != Failure::none) attempt_->nothing = false;
    Base::done(outcome);
  }

 protected:
  /// Called first by run(), which may have run before.
  void begin_try() {
    if (attempt_ != nullptr) attempt_->nothing = false;
  }
  /// Whether the command has to wait, without an answer now.
  bool waits() {
    if (attempt_ != nullptr) attempt_->nothing = true;
    return attempt_ != nullptr;
  }
  bool is_repeated() const { return attempt_ != nullptr && attempt_->repeated; }
  bool may_take(size_t key) const { return attempt_ == nullptr || attempt_->may_take(key); }
  void failed(const StepReply &) override { begin_try(); }

 private:
  Attempt *const attempt_;
};

}  // namespace postern::redis
