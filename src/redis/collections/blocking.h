// blocking.h: commands that wait for elements: BLPOP and its like.
//
// Such a command is tried as its sister that does not wait. If there is nothing it joins the waiters for its keys
// (waiters.h), is tried once more, for elements that came meanwhile, and then sleeps: its session holds no op, no table
// and no thread. Whenever it is woken it is tried again; every second it looks. Once it waits it takes only from keys
// for which nobody has waited for longer.
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

/// One try of a command that waits. Owned by the rest of the command.
struct Attempt {
  bool nothing = false;   ///< there was none of the elements, and nothing was answered
  bool repeated = false;  ///< it waits already: a key of another type is as one that is not there
  /// Which of the keys it may take from: where others have waited for longer, elements are theirs. Empty: all.
  std::vector<bool> turns{};

  /// In a command on streams, for each key: the entry after which it reads.
  std::vector<StreamId> since{};

  bool may_take(size_t key) const { return turns.empty() || turns[key]; }
};

/// Adds the ops of a try. Without an `attempt` the command does not wait: it answers that there is nothing.
using Try = Next (*)(Call &call, Attempt *attempt);

struct Blocking {
  Type type = Type::list;
  std::span<const Bytes> keys{};  ///< it waits for their elements; among the call's arguments
  Bytes timeout{};
  bool in_milliseconds = false;  ///< not in seconds
  Try attempt = nullptr;
};
Next wait_for_elements(Call &call, const Blocking &blocking);
/// `command key [key ...] timeout`
Next wait_and_pop(Call &call, Type type, Try attempt);
/// `timeout numkeys key [key ...] WHERE [COUNT count]`; `first` and `last` are the words for where.
Next wait_and_pop_many(Call &call, Bytes first, Bytes last, Type type, Try attempt);
/// A try where there can be none of the keys.
Next nothing_there(Call &call, Attempt *attempt);

/// Makes a try of a work: it calls nothing_found() where it would wait. `Base` derives from Work.
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
  /// To be called first by run(), which may have been run before.
  void begin_try() {
    if (attempt_ != nullptr) attempt_->nothing = false;
  }
  /// Whether the command waits, and answers nothing now.
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
